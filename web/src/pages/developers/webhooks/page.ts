import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/webhooks',
  title: 'Webhooks',
  rail: 'webhooks',
  load: () => import('./view.tsx'),
})
