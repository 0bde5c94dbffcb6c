import { definePage } from '../../define-page.ts'

export default definePage({
  path: '/senders/brands',
  title: 'Brands and campaigns',
  rail: 'brands',
  examples: ['/senders/brands', '/senders/brands?open=new'],
  load: () => import('./view.tsx'),
})
