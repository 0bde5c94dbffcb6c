import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/senders/numbers',
  title: 'Numbers and sender ids',
  rail: 'numbers',
  load: () => import('./view.tsx'),
})
