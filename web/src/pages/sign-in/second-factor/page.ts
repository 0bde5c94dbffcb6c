import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/login/2fa',
  title: 'Two-factor authentication',
  area: 'public',
  examples: ['/login/2fa?challenge_id=x'],
  load: () => import('./view.tsx'),
})
