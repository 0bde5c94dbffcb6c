import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/reset-password',
  title: 'Choose a new password',
  area: 'public',
  examples: ['/reset-password?token=x'],
  load: () => import('./view.tsx'),
})
