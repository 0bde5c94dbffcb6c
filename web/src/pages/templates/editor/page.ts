import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/templates/$id',
  title: 'Template',
  area: 'app',
  within: 'templates',
  load: () => import('./view.tsx'),
})
