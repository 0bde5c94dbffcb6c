import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/billing',
  title: 'Usage and billing',
  rail: 'billing',
  load: () => import('./view.tsx'),
})
