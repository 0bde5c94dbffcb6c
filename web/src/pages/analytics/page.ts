import { definePage } from '../define-page.ts'

export default definePage({
  path: '/analytics',
  title: 'Analytics',
  rail: 'analytics',
  load: () => import('./view.tsx'),
})
