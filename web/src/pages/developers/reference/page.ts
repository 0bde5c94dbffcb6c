import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/reference',
  title: 'API reference',
  rail: 'reference',
  examples: ['/reference?q=emails&open=sendEmail', '/reference'],
  load: () => import('./view.tsx'),
})
