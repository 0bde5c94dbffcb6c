import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/login',
  title: 'Sign in',
  area: 'public',
  load: () => import('./view.tsx'),
})
