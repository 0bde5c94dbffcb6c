import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/audiences/$id',
  title: 'Audience',
  area: 'app',
  within: 'audiences',
  load: () => import('./view.tsx'),
})
