import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/webhooks',
  title: 'Webhooks',
  area: 'app',
  rail: 'webhooks',
  load: () => import('./view.tsx'),
})
