import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/scim',
  title: 'SCIM',
  rail: 'scim',
  examples: ['/settings/scim', '/settings/scim?open=new'],
  load: () => import('./view.tsx'),
})
