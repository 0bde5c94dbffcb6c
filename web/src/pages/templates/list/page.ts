import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/templates',
  title: 'Templates',
  rail: 'templates',
  load: () => import('./view.tsx'),
})
