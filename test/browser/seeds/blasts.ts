import { askWith, signIn } from '../../clients/people.ts'
import type { Seed } from '../every-page.ts'

/** An audience and a template to send to it. */
const seedBlasts: Seed = async ({ t, people }) => {
  const cookie = await signIn(t, people.owner.userId)
  const post = async (path: string, body: unknown) => (await askWith(t, cookie, 'POST', path, { body })).body
  await post('/api/internal/templates', {
    slug: 'spring-news',
    channel: 'email',
    subject: 'News of {{season}}',
    html: '<h1>Hello {{first_name}}</h1><p>What is new this {{season}}.</p><p><a href="{{unsubscribe_url}}">Unsubscribe</a></p>',
  })
  const { id } = await post('/api/internal/audiences', { name: 'Spring readers' })
  await post(`/api/internal/audiences/${id}/contacts`, { name: 'Ada Lovelace', email: 'ada@example.test' })
  const at = (step: string) => `/audiences/${id}/send?step=${step}`
  return { '/audiences/$id/send': [at('template'), at('subjects')] }
}

export default seedBlasts
