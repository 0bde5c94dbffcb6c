import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/senders/ips',
  title: 'Dedicated IPs',
  area: 'app',
  rail: 'ips',
  load: () => import('./view.tsx'),
})
