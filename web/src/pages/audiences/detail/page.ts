import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/audiences/$id',
  title: 'Audience',
  within: 'audiences',
  load: () => import('./view.tsx'),
})
