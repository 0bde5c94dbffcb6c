import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/audiences',
  title: 'Audiences',
  rail: 'audiences',
  examples: ['/audiences', '/audiences?tab=contacts'],
  load: () => import('./view.tsx'),
})
