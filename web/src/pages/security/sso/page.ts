import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/settings/sso',
  title: 'Single sign-on',
  area: 'app',
  rail: 'sso',
  examples: ['/settings/sso', '/settings/sso?step=provider', '/settings/sso?step=domains', '/settings/sso?step=rules'],
  load: () => import('./view.tsx'),
})
