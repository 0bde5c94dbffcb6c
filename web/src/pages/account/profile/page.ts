import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/account/profile',
  title: 'Profile',
  rail: 'profile',
  load: () => import('./view.tsx'),
})
