import { askWith, signIn } from '../../clients/people.ts'
import type { Seed } from '../every-page.ts'

const names = ['Ada Lovelace', 'Grace Hopper', 'Katherine Johnson', 'Radia Perlman', 'Barbara Liskov']

/** An audience with some members, and one without. */
const seedAudiences: Seed = async ({ t, people }) => {
  const cookie = await signIn(t, people.owner.userId)
  const post = (path: string, body: unknown) => askWith(t, cookie, 'POST', path, { body })
  await post('/api/internal/audiences', { name: 'Beta users' })
  const { body } = await post('/api/internal/audiences', { name: 'Newsletter' })
  for (const [index, name] of names.entries()) {
    const email = `${name.toLowerCase().replace(' ', '.')}@example.test`
    const phone = `+1415555010${index}`
    await post(`/api/internal/audiences/${body.id}/contacts`, { name, email, phone, metadata: { plan: 'pro' } })
  }
  return { '/audiences/$id': [`/audiences/${body.id}`, `/audiences/${body.id}?tab=import`] }
}

export default seedAudiences
