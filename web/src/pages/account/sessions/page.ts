import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/account/sessions',
  title: 'Sessions',
  area: 'app',
  rail: 'sessions',
  load: () => import('./view.tsx'),
})
