import { definePage } from '../define-page.ts'

export default definePage({
  path: '/suppressions',
  title: 'Suppressions',
  area: 'app',
  rail: 'suppressions',
  examples: ['/suppressions', '/suppressions?create=1'],
  load: () => import('./view.tsx'),
})
