import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/team',
  title: 'Team',
  rail: 'team',
  load: () => import('./view.tsx'),
})
