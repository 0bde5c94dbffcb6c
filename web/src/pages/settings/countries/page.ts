import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/countries',
  title: 'SMS countries',
  area: 'app',
  rail: 'countries',
  load: () => import('./view.tsx'),
})
