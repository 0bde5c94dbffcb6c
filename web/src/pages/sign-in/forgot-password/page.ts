import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/forgot-password',
  title: 'Reset your password',
  area: 'public',
  load: () => import('./view.tsx'),
})
