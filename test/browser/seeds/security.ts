import { getTokens } from '../../clients/oauth-client.ts'
import { askWith, signIn } from '../../clients/people.ts'
import { idpEntityId, idpKey, idpSsoUrl } from '../../clients/sso-client.ts'
import type { Seed } from '../every-page.ts'

/** An identity provider, a domain that is not proven yet, a client that somebody allowed, and two tokens of a directory. */
const seedSecurity: Seed = async ({ t, org, people }) => {
  const at = t.service.clock.now()
  await t.database.sql(
    `insert into org_email_domains (org_id, domain, token, verified_at, created_at) values ($1, $2, $3, null, $4)`,
    [org.org.id, 'people.example.com', 'k3Vt0aQmZr8YwL2pXs5N', at],
  )
  const cookie = await signIn(t, people.owner.userId)
  const provider = { idp_entity_id: idpEntityId, idp_sso_url: idpSsoUrl, idp_certificates: [idpKey.certificate] }
  await askWith(t, cookie, 'PUT', '/api/internal/sso', { body: provider })
  await getTokens(t, { cookie, orgId: org.org.id, scopes: ['send:email', 'read:messages'] })
  for (const name of ['Okta', 'Okta, next year']) {
    await askWith(t, cookie, 'POST', '/api/internal/scim/tokens', { body: { name, expires_in_days: 365 } })
  }
  return undefined
}

export default seedSecurity
