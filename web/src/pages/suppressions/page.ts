import { definePage } from '../define-page.ts'

export default definePage({
  path: '/suppressions',
  title: 'Suppressions',
  rail: 'suppressions',
  examples: ['/suppressions', '/suppressions?create=1'],
  load: () => import('./view.tsx'),
})
