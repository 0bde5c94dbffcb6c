import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { openBrowser } from '../../../test/clients/sign-in-client.ts'
import { startScriptedIssuer } from '../../../test/servers/scripted-issuer.ts'
import { startTestService } from '../../../test/service/service.ts'

const issuer = await startScriptedIssuer()
/** It says that it issues unsigned tokens too. None of them may be accepted. */
const metadata = {
  userinfo_endpoint: `${issuer.url}/userinfo`,
  id_token_signing_alg_values_supported: ['RS256', 'none'],
}
issuer.metadata = metadata
const { url, clientId, clientSecret } = issuer
const t = await startTestService({
  env: {
    GOOGLE_ISSUER: url,
    GOOGLE_CLIENT_ID: clientId,
    GOOGLE_CLIENT_SECRET: clientSecret,
    OIDC_NAME: 'Acme',
    OIDC_ISSUER: url,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
  },
})
afterAll(async () => {
  await t.stop()
  await issuer.stop()
})
afterEach(() => {
  issuer.behave()
  issuer.metadata = metadata
})

const ids = ['google', 'oidc'] as const
type Id = (typeof ids)[number]

let people = 0

/** The whole way through the issuer, which says what `change` makes of its claims. */
const signInAt = async (id: Id, change: () => void) => {
  const email = `person${++people}@example.com`
  const who = openBrowser(t, `2001:db8:31::${people.toString(16)}`)
  const start = await who.ask('GET', `/api/auth/${id}`)
  const asked = new URL(start.headers.location as string).searchParams
  issuer.claims = { nonce: asked.get('nonce'), sub: email, email, email_verified: true }
  change()
  const reply = await who.ask('GET', `/api/auth/${id}/callback?code=x&state=${asked.get('state')}`)
  const users = await t.database.sql('select id from users where email = $1', [email])
  return { location: reply.headers.location, session: who.cookie('service_session'), accounts: users.length }
}

const refused = (error: string) => ({ location: `/login?error=${error}`, session: undefined, accounts: 0 })

describe.each(ids)('an ID token for sign-in with %s', (id) => {
  test('that the issuer has signed signs in', async () => {
    const done = await signInAt(id, () => {})
    expect(done).toEqual({ location: '/', session: expect.any(String), accounts: 1 })
  })

  test.each(['stranger', 'nobody'] as const)('that %s has signed opens no session', async (signedBy) => {
    const done = await signInAt(id, () => {
      issuer.signedBy = signedBy
    })
    expect(done).toEqual(refused('oauth_failed'))
  })

  test('that names a key which the issuer does not publish opens no session', async () => {
    const done = await signInAt(id, () => {
      issuer.keyId = 'another'
    })
    expect(done).toEqual(refused('oauth_failed'))
  })

  test.each([0, 1, 'False', 'TRUE', null, undefined])('with email_verified %j opens no session', async (value) => {
    const done = await signInAt(id, () => {
      issuer.claims.email_verified = value
    })
    expect(done).toEqual(refused('email_unverified'))
  })

  test('does not verify an address that only userinfo has', async () => {
    const done = await signInAt(id, () => {
      const { email, sub, nonce } = issuer.claims
      issuer.userinfo = { sub, email, email_verified: false }
      issuer.claims = { nonce, sub, email_verified: true }
    })
    expect(done).toEqual(refused('email_unverified'))
  })
})
