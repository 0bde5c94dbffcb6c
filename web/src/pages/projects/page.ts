import { definePage } from '../define-page.ts'

export default definePage({
  path: '/projects',
  title: 'Projects',
  rail: 'projects',
  load: () => import('./view.tsx'),
})
