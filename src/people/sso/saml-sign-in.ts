/** Sign-in with SAML: the request to the identity provider of an org, and its response. */
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import type { From } from '../signin/complete-sign-in.ts'
import { sweepAll } from '../signin/retention.ts'
import { ResponseFault } from './saml/response-structure.ts'
import type { ResponseVerifier } from './saml/response-verifier.ts'
import type { SamlKey } from './saml/service-key.ts'
import { authnRequestUrl, newRequestId, serviceProviderOf } from './saml/service-provider.ts'
import type { VerifiedPerson } from './saml/verify-response.ts'
import { type SignInToOrg, SsoFault } from './sign-in-to-org.ts'
import { findConnection, findConnectionBySlug, type NamedConnection } from './store/connection-rows.ts'
import { spendId, sweepUsedIds } from './store/sign-in-rows.ts'

/** What the browser that began a sign-in brings back. */
type SamlRequest = { orgId: string; requestId: string; expires: number }

type SamlReturn = {
  /** The org in the address. Undefined at the address of the whole service, where the request names the org. */
  slug: string | undefined
  samlResponse: string
  request: SamlRequest | undefined
  from: From
}

type Needs = StoreNeeds & {
  baseUrl: () => string
  key: () => Promise<SamlKey>
  verifier: Pick<ResponseVerifier, 'verify'>
  signInToOrg: SignInToOrg
}

export const makeSamlSignIn = ({ db, clock, baseUrl, key, verifier, signInToOrg }: Needs) => {
  const connectionOf = async ({ slug, request }: SamlReturn): Promise<NamedConnection> => {
    const find = (orgId: string) => db.row(findConnection, { orgId })
    const found = await (slug !== undefined ? db.row(findConnectionBySlug, { slug }) : request && find(request.orgId))
    if (found?.protocol !== 'saml') throw new SsoFault('not configured')
    return found
  }

  /** A second request with the same id finds it used, whichever process it reaches. */
  const spend = async (orgId: string, what: string, expires: number): Promise<void> => {
    const row = { orgId, idHash: sha256(what), expiresAt: new Date(expires) }
    if (!(await db.row(spendId, row))) throw new SsoFault('used before')
  }

  const verify = async (connection: NamedConnection, returned: SamlReturn): Promise<VerifiedPerson> => {
    const { slug, request, samlResponse } = returned
    const { entityId: audience, acsUrl } = serviceProviderOf(baseUrl(), slug)
    const requestIds = [
      ...(request?.orgId === connection.org_id ? [request.requestId] : []),
      ...(connection.allow_idp_initiated && slug !== undefined ? [undefined] : []),
    ]
    const issuer = connection.idp_entity_id as string
    const expected = { issuer, audience, acsUrl, requestIds, now: clock.millis() }
    const response = { samlResponse, certificates: connection.idp_certificates, expected }
    return verifier.verify(connection.org_id, response).catch((error: unknown) => {
      throw error instanceof ResponseFault ? new SsoFault(error.message) : error
    })
  }

  return {
    start: async (connection: NamedConnection) => {
      const requestId = newRequestId()
      const provider = serviceProviderOf(baseUrl(), connection.slug)
      const idpSsoUrl = connection.idp_sso_url as string
      return { url: await authnRequestUrl({ id: requestId, provider, idpSsoUrl, key: await key() }), requestId }
    },
    /** Throws SsoFault. `solicited` is false if the identity provider began the sign-in. */
    finish: async (returned: SamlReturn) => {
      const connection = await connectionOf(returned)
      const orgId = connection.org_id
      const person = await verify(connection, returned)
      const { requestId, assertionId, expiresAt } = person
      if (requestId !== undefined) await spend(orgId, `request ${requestId}`, returned.request?.expires ?? expiresAt)
      await spend(orgId, `assertion ${connection.idp_entity_id} ${assertionId}`, expiresAt)
      const done = await signInToOrg(connection, person, { method: 'saml', from: returned.from })
      return { done, orgId, solicited: requestId !== undefined }
    },
  }
}

export type SamlSignIn = ReturnType<typeof makeSamlSignIn>

/** Deletes the ids of requests and assertions that have expired. Returns how many. */
export const makeSweepSso =
  ({ db, clock }: StoreNeeds): (() => Promise<number>) =>
  () =>
    sweepAll(db, sweepUsedIds, clock.now())
