import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/senders/dlt',
  title: 'India DLT',
  rail: 'dlt',
  examples: ['/senders/dlt?tab=templates'],
  load: () => import('./view.tsx'),
})
