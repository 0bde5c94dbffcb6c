import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/register',
  title: 'Create an account',
  area: 'public',
  load: () => import('./view.tsx'),
})
