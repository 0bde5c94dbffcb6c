import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/templates/$id',
  title: 'Template',
  within: 'templates',
  load: () => import('./view.tsx'),
})
