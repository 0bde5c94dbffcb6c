import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/organisation',
  title: 'Organisation',
  rail: 'organisation',
  load: () => import('./view.tsx'),
})
