import { keyIdOf } from '../../clients/key-client.ts'
import type { Seed } from '../every-page.ts'

/** Keys with and without restrictions. */
const seedDevelopers: Seed = async ({ t, org }) => {
  const key = await keyIdOf(t, await t.key(org.org.id, { scopes: ['send:email', 'read:messages'], ratePerMinute: 60 }))
  await t.ask('GET', '/api/v1/emails', { key: org.keys.live })
  return {
    '/api-keys': ['/api-keys', '/api-keys?create=1', `/api-keys?open=${key}`],
  }
}

export default seedDevelopers
