import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/unlock',
  title: 'Unlock this browser',
  area: 'public',
  examples: ['/unlock?token=x'],
  load: () => import('./view.tsx'),
})
