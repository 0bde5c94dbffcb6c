import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/api-keys',
  title: 'API keys',
  area: 'app',
  rail: 'keys',
  load: () => import('./view.tsx'),
})
