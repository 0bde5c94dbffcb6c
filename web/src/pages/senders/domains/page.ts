import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/domains',
  title: 'Domains',
  area: 'app',
  rail: 'domains',
  load: () => import('./view.tsx'),
})
