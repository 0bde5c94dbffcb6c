import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/account/sessions',
  title: 'Sessions',
  rail: 'sessions',
  load: () => import('./view.tsx'),
})
