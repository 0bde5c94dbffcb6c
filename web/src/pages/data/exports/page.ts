import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/exports',
  title: 'Exports',
  rail: 'exports',
  gate: 'requireOwnerSession',
  load: () => import('./view.tsx'),
})
