import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/sso',
  title: 'Single sign-on',
  rail: 'sso',
  examples: ['/settings/sso?step=provider', '/settings/sso?step=rules', '/settings/sso?step=domains'],
  load: () => import('./view.tsx'),
})
