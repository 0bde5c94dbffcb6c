import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/orgs/new',
  title: 'Create an organisation',
  load: () => import('./view.tsx'),
})
