import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/team',
  title: 'Team',
  area: 'app',
  rail: 'team',
  load: () => import('./view.tsx'),
})
