/** An org with single sign-on, and people who come back from its identity provider. */
import { newId } from '../../src/platform/ground/ids.ts'
import {
  type AnswerOptions,
  encodeResponse,
  newSigningKey,
  readSentRequest,
  type SigningKey,
  signedResponse,
} from '../servers/identity-provider.ts'
import type { Reply, TestService } from '../service/service.ts'
import { addPerson, askWith, signIn } from './people.ts'
import { type Browser, openBrowser } from './sign-in-client.ts'

export const idpEntityId = 'https://idp.example.com/entity'
export const idpSsoUrl = 'https://idp.example.com/sso'

/** Making a key is slow, so the tests of a file share one. */
export const idpKey: SigningKey = newSigningKey()

let addresses = 0
export const ssoBrowser = (t: TestService): Browser => openBrowser(t, `2001:db8:${(++addresses).toString(16)}::1`)

export type SsoOrg = {
  orgId: string
  slug: string
  domain: string
  ownerId: string
  ask(method: string, path: string, body?: unknown): Promise<Reply>
}

let orgs = 0

export const addVerifiedDomain = (t: TestService, orgId: string, domain: string): Promise<unknown> =>
  t.database.sql(
    `insert into org_email_domains (org_id, domain, token, verified_at, created_at) values ($1, $2, 'proven', $3, $3)`,
    [orgId, domain, t.service.clock.now()],
  )

/** An org with an owner who is signed in, and a verified email domain. */
export const newSsoOrg = async (t: TestService): Promise<SsoOrg> => {
  const { org } = await t.org({ name: `Sso ${++orgs}` })
  const domain = `people${orgs}.example.com`
  await addVerifiedDomain(t, org.id, domain)
  const { userId } = await addPerson(t, { orgId: org.id, email: `owner-${newId('user')}@${domain}` })
  const [row] = await t.database.sql<{ slug: string }>('select slug from orgs where id = $1', [org.id])
  return {
    orgId: org.id,
    slug: (row as { slug: string }).slug,
    domain,
    ownerId: userId,
    ask: async (method, path, body) =>
      askWith(t, await signIn(t, userId), method, path, body === undefined ? {} : { body }),
  }
}

/** The same with a SAML connection. */
export const newSamlOrg = async (t: TestService, settings: Record<string, unknown> = {}): Promise<SsoOrg> => {
  const org = await newSsoOrg(t)
  const provider = { idp_entity_id: idpEntityId, idp_sso_url: idpSsoUrl, idp_certificates: [idpKey.certificate] }
  const reply = await org.ask('PUT', '/api/internal/sso', { ...provider, ...settings })
  if (reply.status !== 200) throw new Error(`configuring SSO failed: ${reply.text}`)
  return org
}

export const acsPath = ({ slug }: Pick<SsoOrg, 'slug'>): string => `/api/auth/saml/acs?org=${slug}`

/** What an identity provider would answer to this browser's request. */
export const answerFor = (t: TestService, org: SsoOrg, email: string, inResponseTo?: string): AnswerOptions => ({
  email,
  issuer: idpEntityId,
  audience: `${t.url}/api/auth/saml/metadata?org=${org.slug}`,
  acsUrl: `${t.url}${acsPath(org)}`,
  inResponseTo,
  now: t.service.clock.now(),
})

/** Begins a sign-in. Returns the id of the request. */
export const beginSaml = async (who: Browser, { slug }: SsoOrg, query = ''): Promise<string> => {
  const reply = await who.ask('GET', `/api/auth/saml/login?org=${slug}${query}`)
  return readSentRequest(reply.headers.location as string).id
}

export const postResponse = (who: Browser, path: string, xml: string, fields: Record<string, string> = {}) =>
  who.ask('POST', path, {
    raw: new URLSearchParams({ SAMLResponse: encodeResponse(xml), ...fields }).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'cross-site',
      origin: 'https://idp.example.com',
    },
  })

/** The whole way through the identity provider. */
export const signInWithSaml = async (
  t: TestService,
  who: Browser,
  org: SsoOrg,
  email: string,
  more: Partial<AnswerOptions> = {},
): Promise<Reply> => {
  const id = await beginSaml(who, org)
  return postResponse(who, acsPath(org), signedResponse({ ...answerFor(t, org, email, id), ...more }, idpKey))
}
