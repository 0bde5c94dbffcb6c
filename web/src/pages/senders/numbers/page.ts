import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/senders/numbers',
  title: 'Numbers and sender ids',
  area: 'app',
  rail: 'numbers',
  examples: ['/senders/numbers'],
  load: () => import('./view.tsx'),
})
