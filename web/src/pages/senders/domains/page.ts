import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/domains',
  title: 'Domains',
  rail: 'domains',
  load: () => import('./view.tsx'),
})
