import { definePage } from '../define-page.ts'

export default definePage({
  path: '/',
  title: 'Overview',
  area: 'app',
  rail: 'overview',
  load: () => import('./view.tsx'),
})
