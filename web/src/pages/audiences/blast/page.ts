import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/audiences/$id/send',
  title: 'Send to an audience',
  area: 'app',
  within: 'audiences',
  gate: 'requireDeveloperSession',
  load: () => import('./view.tsx'),
})
