import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/senders/pools',
  title: 'Pools',
  rail: 'pools',
  load: () => import('./view.tsx'),
})
