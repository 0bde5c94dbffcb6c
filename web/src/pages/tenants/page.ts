import { definePage } from '../define-page.ts'

export default definePage({
  path: '/tenants',
  title: 'Tenants',
  rail: 'tenants',
  load: () => import('./view.tsx'),
})
