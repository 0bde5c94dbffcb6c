import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/account/deletion',
  title: 'Delete account',
  rail: 'deletion',
  load: () => import('./view.tsx'),
})
