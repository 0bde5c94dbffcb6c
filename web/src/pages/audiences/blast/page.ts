import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/audiences/$id/send',
  title: 'Send to an audience',
  within: 'audiences',
  gate: 'requireDeveloperSession',
  load: () => import('./view.tsx'),
})
