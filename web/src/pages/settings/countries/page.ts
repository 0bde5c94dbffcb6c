import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/countries',
  title: 'SMS countries',
  rail: 'countries',
  load: () => import('./view.tsx'),
})
