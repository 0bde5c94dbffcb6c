import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/api-keys',
  title: 'API keys',
  rail: 'keys',
  load: () => import('./view.tsx'),
})
