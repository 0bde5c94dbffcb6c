import { getTokens } from '../../clients/oauth-client.ts'
import { signIn } from '../../clients/people.ts'
import type { Seed } from '../every-page.ts'

/** A domain that is not proven yet, and a client that somebody allowed. */
const seedSecurity: Seed = async ({ t, org, people }) => {
  const at = t.service.clock.now()
  await t.database.sql(
    `insert into org_email_domains (org_id, domain, token, verified_at, created_at) values ($1, $2, $3, null, $4)`,
    [org.org.id, 'people.example.com', 'k3Vt0aQmZr8YwL2pXs5N', at],
  )
  const cookie = await signIn(t, people.owner.userId)
  await getTokens(t, { cookie, orgId: org.org.id, scopes: ['send:email', 'read:messages'] })
  return undefined
}

export default seedSecurity
