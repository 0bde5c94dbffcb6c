import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/senders/pools',
  title: 'Pools',
  area: 'app',
  rail: 'pools',
  examples: ['/senders/pools'],
  load: () => import('./view.tsx'),
})
