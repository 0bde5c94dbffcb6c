import { definePage } from '../define-page.ts'

export default definePage({
  path: '/projects',
  title: 'Projects',
  area: 'app',
  rail: 'projects',
  load: () => import('./view.tsx'),
})
