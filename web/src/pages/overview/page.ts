import { definePage } from '../define-page.ts'

export default definePage({
  path: '/',
  title: 'Overview',
  rail: 'overview',
  load: () => import('./view.tsx'),
})
