import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/messages/new',
  title: 'New message',
  within: 'messages',
  gate: 'requireDeveloperSession',
  load: () => import('./view.tsx'),
})
