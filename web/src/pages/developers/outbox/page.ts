import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/outbox',
  title: 'Outbox',
  rail: 'outbox',
  development: true,
  load: () => import('./view.tsx'),
})
