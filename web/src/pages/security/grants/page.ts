import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/grants',
  title: 'OAuth grants',
  rail: 'grants',
  examples: ['/settings/grants', '/settings/grants?tab=org'],
  load: () => import('./view.tsx'),
})
