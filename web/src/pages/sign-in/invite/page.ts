import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/invite',
  title: 'Invitation',
  area: 'public',
  examples: ['/invite?token=x'],
  load: () => import('./view.tsx'),
})
