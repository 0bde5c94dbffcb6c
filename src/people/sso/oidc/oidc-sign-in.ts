/** Sign-in at the OpenID Connect issuer of an org: authorization code flow with PKCE, state and nonce. */
import * as client from 'openid-client'
import type { Db } from '../../../platform/db/pool.ts'
import type { Vault } from '../../../platform/ground/crypto.ts'
import { comparableAddress } from '../../../platform/ground/mailbox.ts'
import type { GuardedAgent } from '../../../platform/outgoing/guarded.ts'
import { normaliseName } from '../../../senders/domains/name.ts'
import type { From } from '../../signin/complete-sign-in.ts'
import {
  discoverIssuer,
  issuerSignInUrl,
  personClaims,
  saysVerified,
  textClaim,
} from '../../signin/providers/open-id-connect.ts'
import type { Checks } from '../../signin/providers/sign-in-provider.ts'
import type { EmailDomains } from '../email-domains.ts'
import { secretContext } from '../manage-sso.ts'
import { type SignInToOrg, SsoFault, type SsoPerson } from '../sign-in-to-org.ts'
import { type ConnectionRow, findConnection } from '../store/connection-rows.ts'
import { makeGuardedFetch } from './guarded-fetch.ts'

type OidcReturn = { orgId: string; url: URL; checks: Checks; from: From }

/** Anyone can have an account there, so the address alone does not show that the org manages it. */
const google = 'https://accounts.google.com'

const keptMs = 600_000
const maxKept = 500

type Needs = {
  db: Db
  vault: Vault
  agent: GuardedAgent
  domains: Pick<EmailDomains, 'verifiedDomains'>
  signInToOrg: SignInToOrg
}

/** Metadata of issuers, kept for ten minutes. */
const makeDiscover = ({ vault, agent }: Needs) => {
  const fetch = makeGuardedFetch(agent)
  const kept = new Map<string, { config: client.Configuration; at: number }>()
  return async (connection: ConnectionRow): Promise<client.Configuration> => {
    const { org_id: orgId, oidc_issuer: issuer, oidc_client_id: clientId, oidc_client_secret: sealed } = connection
    if (issuer === null || clientId === null || sealed === null) throw new SsoFault('not configured')
    const name = `${orgId} ${issuer} ${clientId} ${sealed}`
    const known = kept.get(name)
    if (known && performance.now() - known.at < keptMs) return known.config
    const clientSecret = vault.open(sealed, secretContext(orgId))
    const config = await discoverIssuer({ issuer, clientId, clientSecret }, { [client.customFetch]: fetch })
    kept.delete(name)
    if (kept.size >= maxKept) kept.delete(kept.keys().next().value as string)
    kept.set(name, { config, at: performance.now() })
    return config
  }
}

/** The library's errors can quote tokens, so only the kind of an error is passed on. */
const faultOf = (error: unknown): SsoFault => {
  if (error instanceof SsoFault) return error
  if (error instanceof client.AuthorizationResponseError) return new SsoFault('refused by the identity provider')
  const { code, name } = error as { code?: unknown; name?: unknown }
  return new SsoFault(`issuer failed: ${textClaim(code) ?? textClaim(name) ?? 'unknown'}`)
}

export const makeOidcSignIn = (needs: Needs) => {
  const { db, domains, signInToOrg } = needs
  const discover = makeDiscover(needs)

  const exchange = async (connection: ConnectionRow, { url, checks }: OidcReturn): Promise<Record<string, unknown>> =>
    personClaims(await discover(connection), url, checks)

  /**
   * `hd` names the Google Workspace that manages the account. A Workspace can have several domains, so it need not be the
   * domain of the address, but the org must have proven it too.
   */
  const isManaged = async (orgId: string, { iss, hd }: Record<string, unknown>): Promise<boolean> => {
    if (hd === undefined || hd === null) return iss !== google
    const domain = normaliseName(textClaim(hd) ?? '')
    return domain !== undefined && (await domains.verifiedDomains(orgId)).includes(domain)
  }

  /** An issuer that does not say whether the address is verified is believed: the org has proven the domain. */
  const personIn = async (orgId: string, claims: Record<string, unknown>): Promise<SsoPerson> => {
    const given = textClaim(claims.email)
    const email = given === undefined || given.includes('<') ? undefined : comparableAddress(given)
    if (email === undefined) throw new SsoFault('no address')
    const { email_verified: verified } = claims
    if (verified !== undefined && !saysVerified(verified)) throw new SsoFault('address not verified')
    if (!(await isManaged(orgId, claims))) throw new SsoFault('account outside the verified domains')
    return { email, name: textClaim(claims.name) ?? '' }
  }

  return {
    /** Throws SsoFault if the issuer does not respond as it should. */
    start: async (connection: ConnectionRow, redirectUri: string, checks: Checks) => {
      try {
        const url = await issuerSignInUrl(await discover(connection), redirectUri, checks)
        if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new SsoFault('invalid address')
        return url
      } catch (error) {
        throw faultOf(error)
      }
    },
    finish: async (returned: OidcReturn) => {
      const { orgId, from } = returned
      const connection = await db.row(findConnection, { orgId })
      if (connection?.protocol !== 'oidc') throw new SsoFault('not configured')
      const claims = await exchange(connection, returned).catch((error: unknown) => {
        throw faultOf(error)
      })
      return signInToOrg(connection, await personIn(orgId, claims), { method: 'oidc', from })
    },
  }
}

export type OidcSignIn = ReturnType<typeof makeOidcSignIn>
