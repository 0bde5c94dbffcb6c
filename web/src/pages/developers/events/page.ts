import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/events',
  title: 'Events',
  rail: 'events',
  examples: ['/events', '/events?open=message.bounced'],
  load: () => import('./view.tsx'),
})
