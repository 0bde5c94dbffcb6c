import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/audit',
  title: 'Audit log',
  rail: 'audit',
  gate: 'requireDeveloperSession',
  examples: ['/settings/audit', '/settings/audit?tab=verification'],
  load: () => import('./view.tsx'),
})
