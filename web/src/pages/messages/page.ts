import { definePage } from '../define-page.ts'

export default definePage({
  path: '/messages',
  title: 'Messages',
  rail: 'messages',
  load: () => import('./view.tsx'),
})
