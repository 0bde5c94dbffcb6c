import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/account/profile',
  title: 'Profile',
  area: 'app',
  rail: 'profile',
  load: () => import('./view.tsx'),
})
