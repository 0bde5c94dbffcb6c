import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/status',
  title: 'Service status',
  rail: 'status',
  load: () => import('./view.tsx'),
})
