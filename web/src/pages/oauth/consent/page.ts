import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/oauth/consent',
  title: 'Allow access',
  area: 'public',
  examples: ['/oauth/consent?id=x'],
  load: () => import('./view.tsx'),
})
