import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/account/data',
  title: 'Data export',
  rail: 'data',
  load: () => import('./view.tsx'),
})
