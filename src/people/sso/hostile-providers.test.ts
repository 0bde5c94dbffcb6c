import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { newSsoOrg, type SsoOrg, ssoBrowser } from '../../../test/clients/sso-client.ts'
import {
  breakOff,
  drip,
  type Endpoint,
  endless,
  hang,
  type Misbehaviour,
  redirectTo,
  respondWith,
  startScriptedIssuer,
} from '../../../test/servers/scripted-issuer.ts'
import { startTestService } from '../../../test/service/service.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { type GuardedAgent, makeGuardedAgent } from '../../platform/outgoing/guarded.ts'

const issuer = await startScriptedIssuer()

/** A service inside the network, which nobody outside may reach. */
let reachedInside = 0
const inside = createServer((_, response) => {
  reachedInside++
  response.end('{}')
})
inside.listen(0, '127.0.0.1')
await once(inside, 'listening')
const insideUrl = `http://127.0.0.1:${(inside.address() as AddressInfo).port}`

/** The longest time that the service would wait for one response. The test waits less. */
const longestWaitMs = 10_000
const given = new Set<number>()
const real = makeGuardedAgent({ allowInsecure: true })
const agent: GuardedAgent = {
  ...real,
  request: (url, request) => {
    given.add(request.timeoutMs)
    return real.request(url, { ...request, timeoutMs: 150 })
  },
}
type Line = [fields: { reason?: string }, message: string]
const [warnings, errors]: [Line[], Line[]] = [[], []]
const log = Object.assign(Object.create(silentLog()), {
  warn: (...line: Line) => warnings.push(line),
  error: (...line: Line) => errors.push(line),
})
const t = await startTestService({ agent, log, env: { WEBHOOK_ALLOW_INSECURE: 'true' } })
afterAll(async () => {
  await t.stop()
  await issuer.stop()
  inside.closeAllConnections()
  inside.close()
})
afterEach(() => {
  issuer.behave()
  warnings.length = 0
  expect(errors).toEqual([])
  expect(reachedInside).toBe(0)
  expect([...given].every((ms) => ms <= longestWaitMs)).toBe(true)
})

const newOidcOrg = async (): Promise<SsoOrg> => {
  const org = await newSsoOrg(t)
  const { url: oidc_issuer, clientId: oidc_client_id, clientSecret: oidc_client_secret } = issuer
  const reply = await org.ask('PUT', '/api/internal/sso', { oidc_issuer, oidc_client_id, oidc_client_secret })
  expect(reply.status, reply.text).toBe(200)
  return org
}

const failed = [302, '/login?error=sso_failed']
const begin = (org: SsoOrg, who = ssoBrowser(t)) => who.ask('GET', `/api/auth/sso/login?org=${org.slug}`)

/** Signs in through the issuer, which misbehaves only after the browser was sent there. */
const signInWith = async (org: SsoOrg, misbehave: () => void) => {
  const who = ssoBrowser(t)
  const start = await begin(org, who)
  const asked = new URL(start.headers.location as string).searchParams
  issuer.claims = { nonce: asked.get('nonce'), email: `ann@${org.domain}` }
  misbehave()
  const reply = await who.ask('GET', `/api/auth/sso/callback?code=x&state=${asked.get('state')}`)
  return { reply: [reply.status, reply.headers.location], session: who.cookie('service_session') }
}

const reasons = () =>
  warnings.filter(([, message]) => message === 'single sign-on failed').map(([{ reason }]) => reason)

const misbehaviours: [string, Misbehaviour][] = [
  ['hangs', hang],
  ['sends its response byte by byte', drip],
  ['sends a body without an end', endless],
  ['breaks off', breakOff],
  ['redirects into the network', redirectTo(insideUrl)],
  ['redirects to the metadata of the cloud', redirectTo('http://169.254.169.254/latest/meta-data')],
  ['sends text that is not JSON', respondWith('<html>')],
  ['sends a list', respondWith('[]')],
  ['sends null', respondWith('null')],
  ['sends an empty body', respondWith('')],
  ['is down', respondWith('{"error":"down"}', 503)],
]

describe.each(misbehaviours)('an issuer that %s', (_, misbehaviour) => {
  test('at its metadata sends the browser back, and the next attempt works', async () => {
    const org = await newOidcOrg()
    issuer.misbehave.discovery = misbehaviour
    const reply = await begin(org)
    expect([reply.status, reply.headers.location]).toEqual(failed)
    expect(reasons()).toEqual([expect.stringMatching(/^issuer failed: /)])
    issuer.misbehave = {}
    expect((await begin(org)).headers.location).toMatch(new RegExp(`^${issuer.url}/authorize`))
  })

  test.each<Endpoint>(['token', 'jwks', 'userinfo'])('at %s opens no session and stores nothing', async (endpoint) => {
    issuer.metadata = { userinfo_endpoint: `${issuer.url}/userinfo` }
    const org = await newOidcOrg()
    const { reply, session } = await signInWith(org, () => {
      if (endpoint === 'userinfo') delete issuer.claims.email
      issuer.misbehave[endpoint] = misbehaviour
    })
    expect([reply, session]).toEqual([failed, undefined])
    expect(reasons()).toEqual([expect.stringMatching(/^(issuer failed: |no address)/)])
    expect(issuer.asked[endpoint]).toBe(1)
    expect((await org.ask('GET', '/api/internal/sso')).body.tested).toBe(false)
    expect(await t.database.sql('select id from users where email = $1', [`ann@${org.domain}`])).toEqual([])
  })
})

describe('an issuer that lies', () => {
  test.each([
    ['about its name', { issuer: 'https://elsewhere.example.com' }],
    ['about where people sign in', { authorization_endpoint: 'javascript:alert(1)' }],
    ['without an address to sign in at', { authorization_endpoint: undefined }],
    ['with an address that is not a text', { authorization_endpoint: 7 }],
  ])('%s sends the browser back', async (_, metadata) => {
    const org = await newOidcOrg()
    issuer.metadata = metadata
    const reply = await begin(org)
    expect([reply.status, reply.headers.location]).toEqual(failed)
    expect(reasons()).toHaveLength(1)
  })

  test.each([
    ['whose token endpoint is in the cloud', { token_endpoint: 'http://169.254.169.254/token' }],
    ['whose keys are in the cloud', { jwks_uri: 'http://169.254.169.254/keys' }],
    ['whose keys are a file', { jwks_uri: 'file:///etc/passwd' }],
    ['without a token endpoint', { token_endpoint: undefined }],
    ['without keys', { jwks_uri: undefined }],
  ])('%s opens no session', async (_, metadata) => {
    issuer.metadata = metadata
    const org = await newOidcOrg()
    const { reply, session } = await signInWith(org, () => {})
    expect([reply, session]).toEqual([failed, undefined])
    expect(reasons()).toHaveLength(1)
  })

  test.each([
    ['names a key that it does not publish', { keyId: 'another' }],
    ['names another issuer in the token', { claims: { iss: 'https://elsewhere.example.com' } }],
    ['issues the token for another client', { claims: { aud: 'another' } }],
    ['answers another request', { claims: { nonce: 'another' } }],
    ['sends an expired token', { claims: { exp: 1 } }],
  ])('%s opens no session', async (_, { keyId, claims }: { keyId?: string; claims?: Record<string, unknown> }) => {
    const { reply, session } = await signInWith(await newOidcOrg(), () => {
      issuer.keyId = keyId ?? issuer.keyId
      Object.assign(issuer.claims, claims)
    })
    expect([reply, session]).toEqual([failed, undefined])
    expect(reasons()).toHaveLength(1)
  })

  test.each(['stranger', 'nobody'] as const)('sends a token that %s has signed opens no session', async (signedBy) => {
    issuer.metadata = { id_token_signing_alg_values_supported: ['RS256', 'none'] }
    const { reply, session } = await signInWith(await newOidcOrg(), () => {
      issuer.signedBy = signedBy
    })
    expect([reply, session]).toEqual([failed, undefined])
    expect(reasons()).toHaveLength(1)
  })

  test.each([[0], [1], ['False'], ['TRUE'], ['yes'], [''], [null], [[true]]])(
    'sends an address with email_verified %j opens no session',
    async (email_verified) => {
      const { reply, session } = await signInWith(await newOidcOrg(), () => {
        issuer.claims.email_verified = email_verified
      })
      expect([reply, session]).toEqual([failed, undefined])
      expect(reasons()).toEqual(['address not verified'])
    },
  )

  test.each([true, 'true'])('sends an address with email_verified %j signs in', async (email_verified) => {
    const { reply } = await signInWith(await newOidcOrg(), () => {
      issuer.claims.email_verified = email_verified
    })
    expect(reply).toEqual([302, '/'])
  })

  test('an address of userinfo is not verified by what the ID token says about another one', async () => {
    issuer.metadata = { userinfo_endpoint: `${issuer.url}/userinfo` }
    const org = await newOidcOrg()
    const { reply, session } = await signInWith(org, () => {
      const sub = 'ann'
      issuer.userinfo = { sub, email: issuer.claims.email, email_verified: false }
      issuer.claims = { nonce: issuer.claims.nonce, sub, email_verified: true }
    })
    expect([reply, session]).toEqual([failed, undefined])
    expect(reasons()).toEqual(['address not verified'])
  })

  test('is not believed, and the same issuer signs in when it is honest', async () => {
    const { reply, session } = await signInWith(await newOidcOrg(), () => {})
    expect([reply, session]).toEqual([[302, '/'], expect.any(String)])
  })
})

describe('a metadata address of SAML that', () => {
  const notFetched = (kind: string) => `The metadata could not be fetched: ${kind}.`
  test.each<[string, Misbehaviour, string]>([
    ['hangs', hang, notFetched('timeout')],
    ['sends its response byte by byte', drip, notFetched('timeout')],
    ['sends a body without an end', endless, 'The metadata is too large.'],
    ['breaks off', breakOff, notFetched('connection')],
    ['redirects into the network', redirectTo(insideUrl), 'The metadata address responded with 302.'],
    ['sends text that is not XML', respondWith('{}'), expect.stringMatching(/^The metadata cannot be read: /)],
    ['sends an empty body', respondWith(''), expect.stringMatching(/^The metadata cannot be read: /)],
    [
      'declares entities',
      respondWith('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'),
      expect.stringMatching(/cannot be read/),
    ],
    ['is down', respondWith('', 503), 'The metadata address responded with 503.'],
  ])('%s is 422 with the reason, and nothing is stored', async (_, misbehaviour, message) => {
    const org = await newSsoOrg(t)
    issuer.misbehave.discovery = misbehaviour
    const url = `${issuer.url}/.well-known/openid-configuration`
    const reply = await org.ask('PUT', '/api/internal/sso', { idp_metadata_url: url })
    expect([reply.status, reply.body.errors]).toEqual([422, [{ path: ['idp_metadata_url'], code: 'custom', message }]])
    expect((await org.ask('GET', '/api/internal/sso')).body.protocol).toBeNull()
  })
})
