import { definePage } from '../define-page.ts'

export default definePage({
  path: '/analytics',
  title: 'Analytics',
  area: 'app',
  rail: 'analytics',
  load: () => import('./view.tsx'),
})
