import { definePage } from '../define-page.ts'

export default definePage({
  path: '/messages',
  title: 'Messages',
  area: 'app',
  rail: 'messages',
  load: () => import('./view.tsx'),
})
