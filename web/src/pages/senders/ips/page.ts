import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/senders/ips',
  title: 'Dedicated IPs',
  rail: 'ips',
  load: () => import('./view.tsx'),
})
