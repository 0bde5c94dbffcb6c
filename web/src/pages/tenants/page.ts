import { definePage } from '../define-page.ts'

export default definePage({
  path: '/tenants',
  title: 'Tenants',
  area: 'app',
  rail: 'tenants',
  load: () => import('./view.tsx'),
})
