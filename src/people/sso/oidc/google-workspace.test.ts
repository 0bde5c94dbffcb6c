import { afterAll, expect, test } from 'vitest'
import { addVerifiedDomain, newSsoOrg, type SsoOrg, ssoBrowser } from '../../../../test/clients/sso-client.ts'
import { type ScriptedIssuer, startScriptedIssuer } from '../../../../test/servers/scripted-issuer.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { type GuardedAgent, makeGuardedAgent } from '../../../platform/outgoing/guarded.ts'

const googleUrl = 'https://accounts.google.com'
const [google, other] = [await startScriptedIssuer(googleUrl), await startScriptedIssuer()]

/** Reaches the issuer of this test under the address of Google. */
const real = makeGuardedAgent({ allowInsecure: true })
const agent: GuardedAgent = {
  ...real,
  request: (url, request) => real.request(String(url).replace(googleUrl, google.url), request),
}
const t = await startTestService({ agent, env: { WEBHOOK_ALLOW_INSECURE: 'true' } })
afterAll(async () => {
  await t.stop()
  await Promise.all([google.stop(), other.stop()])
})

const orgAt = async (oidc_issuer: string): Promise<SsoOrg> => {
  const org = await newSsoOrg(t)
  const { clientId: oidc_client_id, clientSecret: oidc_client_secret } = google
  const body = { protocol: 'oidc', oidc_issuer, oidc_client_id, oidc_client_secret }
  expect((await org.ask('PUT', '/api/internal/sso', body)).status).toBe(200)
  return org
}
const orgs = { google: await orgAt(googleUrl), other: await orgAt(other.url) }
const second = 'second.example.org'
await addVerifiedDomain(t, orgs.google.orgId, second)
await addVerifiedDomain(t, orgs.other.orgId, second)

const peopleOf = async ({ orgId }: SsoOrg): Promise<unknown[]> =>
  t.database.sql('select user_id from memberships where org_id = $1 order by user_id', [orgId])

const comeBack = async (org: SsoOrg, at: ScriptedIssuer, claims: Record<string, unknown>) => {
  const who = ssoBrowser(t)
  const start = await who.ask('GET', `/api/auth/sso/login?org=${org.slug}`)
  const asked = new URL(start.headers.location as string).searchParams
  at.claims = { nonce: asked.get('nonce'), name: 'Ann Lee', ...claims }
  const reply = await who.ask('GET', `/api/auth/sso/callback?code=x&state=${asked.get('state')}`)
  return { signedIn: who.cookie('service_session') !== undefined, reply: [reply.status, reply.headers.location] }
}

const domainOf = ({ domain }: SsoOrg) => domain
type Case = [title: string, claims: (domain: string) => Record<string, unknown>]

const refusedAnywhere: Case[] = [
  ['an address that is not verified', (domain) => ({ email_verified: false, hd: domain })],
  ['an address that is not verified, as text', (domain) => ({ email_verified: 'false', hd: domain })],
  ['an address in another domain', (domain) => ({ email: 'ann@elsewhere.example.net', hd: domain })],
  ['an address in a subdomain', (domain) => ({ email: `ann@sub.${domain}`, hd: domain })],
  ['a Workspace of another domain', () => ({ hd: 'elsewhere.example.net' })],
  ['a Workspace of a subdomain', (domain) => ({ hd: `sub.${domain}` })],
  ['a Workspace that is not a text', (domain) => ({ hd: [domain] })],
  ['an empty Workspace', () => ({ hd: '' })],
  ['a Workspace with a second domain in it', (domain) => ({ hd: `elsewhere.example.net@${domain}` })],
]
const acceptedAnywhere: Case[] = [
  ['the Workspace of the address', (domain) => ({ email_verified: true, hd: domain })],
  ['the Workspace in another case', (domain) => ({ hd: domain.toUpperCase() })],
  ['a second domain of the same Workspace that the org has verified', () => ({ email: `ann@${second}` })],
]

for (const name of ['google', 'other'] as const) {
  const [org, at] = [orgs[name], name === 'google' ? google : other]
  const base = () => ({ email: `ann@${domainOf(org)}`, hd: domainOf(org) })

  test.each(refusedAnywhere)(`${name} is refused with %s, and nobody joins`, async (_, claims) => {
    const before = await peopleOf(org)
    const { reply, signedIn } = await comeBack(org, at, { ...base(), ...claims(domainOf(org)) })
    expect([reply, signedIn]).toEqual([[302, '/login?error=sso_failed'], false])
    expect(await peopleOf(org)).toEqual(before)
  })

  test.each(acceptedAnywhere)(`${name} signs in with %s`, async (_, claims) => {
    const { reply, signedIn } = await comeBack(org, at, { ...base(), ...claims(domainOf(org)) })
    expect([reply, signedIn]).toEqual([[302, '/'], true])
  })
}

test('an account that no Workspace manages is refused at Google and is usual elsewhere', async () => {
  const email = (org: SsoOrg) => ({ email: `private@${org.domain}`, email_verified: true })
  const refused = await comeBack(orgs.google, google, email(orgs.google))
  expect(refused).toEqual({ reply: [302, '/login?error=sso_failed'], signedIn: false })
  const accepted = await comeBack(orgs.other, other, email(orgs.other))
  expect(accepted).toEqual({ reply: [302, '/'], signedIn: true })
})
