import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/welcome',
  title: 'Welcome',
  area: 'public',
  examples: ['/welcome?token=x'],
  load: () => import('./view.tsx'),
})
