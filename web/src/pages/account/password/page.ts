import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/account/password',
  title: 'Password and two-factor',
  rail: 'password',
  load: () => import('./view.tsx'),
})
