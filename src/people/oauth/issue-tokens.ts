/** The token endpoint: codes and refresh tokens become new tokens, each of them once. */
import type { Actor, AuditedNeeds } from '../../journal/audit/append.ts'
import type { Db } from '../../platform/db/pool.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { isId } from '../../platform/ground/ids.ts'
import { readScopes } from './grantable.ts'
import { auditEndedGrants, type GrantEnd, type TokenSource } from './manage-grants.ts'
import { OAuthFault } from './oauth-error.ts'
import { findClient } from './store/client-rows.ts'
import {
  type EndedGrantRow,
  endGrantOfOldRefresh,
  endGrantOfUsedCode,
  type IssuedRow,
  isCurrentRefresh,
  redeemCode,
  rotateRefresh,
  trimAccessTokens,
} from './store/grant-rows.ts'
import { familyOf, isCodeShaped, newAccessToken, newFamily, newRefreshToken } from './token-secret.ts'

const accessMs = 3_600_000
const refreshMs = 30 * 86_400_000
/** Access tokens of one grant that work at the same time. */
const keptTokens = 10

/** The parameters of a token request, each given once. */
export type TokenRequest = Record<string, string | undefined>

export type IssueTokens = (request: TokenRequest, source: TokenSource) => Promise<IssuedTokens>

const required = (request: TokenRequest, name: string): string => {
  const value = request[name]
  if (!value) throw new OAuthFault('invalid_request', `${name} is required.`)
  return value
}

type IssuedTokens = ReturnType<typeof shown>

const invalidGrant = (): OAuthFault =>
  new OAuthFault('invalid_grant', 'The code or refresh token is invalid, expired, used or issued to another client.')

const shown = (access: string, refresh: string, { scopes, expires_at }: IssuedRow, at: Date) => ({
  access_token: access,
  token_type: 'Bearer',
  expires_in: Math.floor((expires_at.getTime() - at.getTime()) / 1_000),
  refresh_token: refresh,
  scope: scopes.join(' '),
})

type Needs = AuditedNeeds & {
  /** Days after which a grant ends, however often its refresh token was used. */
  maxDays: number
}

export const makeIssueTokens = ({ db, clock, audit, maxDays }: Needs): IssueTokens => {
  const expiries = () => {
    const at = clock.now()
    const after = (ms: number): Date => new Date(at.getTime() + ms)
    return { at, accessExpiresAt: after(accessMs), refreshExpiresAt: after(refreshMs), maxDays }
  }

  /** Nobody is signed in: the secret may be in the hands of a thief. */
  const endStolen = (
    source: TokenSource,
    reason: GrantEnd,
    end: (tx: Parameters<Parameters<Db['tx']>[0]>[0]) => Promise<EndedGrantRow | undefined>,
  ): Promise<boolean> =>
    db.tx(async (tx) => {
      const ended = await end(tx)
      const actor: Actor = { kind: 'nobody', ...source }
      if (ended) await auditEndedGrants(audit, tx, actor, reason, [ended])
      return ended !== undefined
    })

  const fromCode = async (request: TokenRequest, clientId: string, source: TokenSource): Promise<IssuedTokens> => {
    const code = required(request, 'code')
    const verifier = required(request, 'code_verifier')
    if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) {
      throw new OAuthFault('invalid_request', 'code_verifier must have 43 to 128 unreserved characters.')
    }
    if (!isCodeShaped(code)) throw invalidGrant()
    const codeHash = sha256(code)
    const [family, access, times] = [newFamily(), newAccessToken(), expiries()]
    const refresh = newRefreshToken(family)
    const issued = await db.row(redeemCode, {
      codeHash,
      clientId,
      codeChallenge: sha256(verifier).toString('base64url'),
      redirectUri: request.redirect_uri ?? null,
      familyHash: sha256(family),
      refreshHash: refresh.hash,
      accessHash: access.hash,
      ...times,
    })
    if (issued) return shown(access.text, refresh.text, issued, times.at)
    await endStolen(source, 'code_reused', (tx) => tx.row(endGrantOfUsedCode, { codeHash }))
    throw invalidGrant()
  }

  const fromRefresh = async (request: TokenRequest, clientId: string, source: TokenSource): Promise<IssuedTokens> => {
    const presented = required(request, 'refresh_token')
    const family = familyOf(presented)
    if (family === undefined) throw invalidGrant()
    const asked = request.scope === undefined ? null : readScopes(request.scope)
    if (asked?.length === 0) throw new OAuthFault('invalid_scope', 'None of the requested scopes was granted.')
    const hashes = { familyHash: sha256(family), presentedHash: sha256(presented) }
    const [access, refresh, times] = [newAccessToken(), newRefreshToken(family), expiries()]
    const issued = await db.row(rotateRefresh, {
      ...hashes,
      clientId,
      scopes: asked,
      refreshHash: refresh.hash,
      accessHash: access.hash,
      ...times,
    })
    if (issued) {
      await db.change(trimAccessTokens, { orgId: issued.org_id, grantId: issued.id, kept: keptTokens })
      return shown(access.text, refresh.text, issued, times.at)
    }
    if (await endStolen(source, 'refresh_token_reused', (tx) => tx.row(endGrantOfOldRefresh, hashes))) {
      throw invalidGrant()
    }
    if (asked && (await db.row(isCurrentRefresh, { ...hashes, clientId, maxDays, at: times.at }))) {
      throw new OAuthFault('invalid_scope', 'A refresh cannot add scopes. Ask for authorization again.')
    }
    throw invalidGrant()
  }

  const grants = new Map([
    ['authorization_code', fromCode],
    ['refresh_token', fromRefresh],
  ])
  return async (request, source) => {
    const grantType = required(request, 'grant_type')
    const issue = grants.get(grantType)
    if (!issue) throw new OAuthFault('unsupported_grant_type', 'Use authorization_code or refresh_token.')
    const clientId = required(request, 'client_id')
    if (!isId('oauthClient', clientId) || !(await db.row(findClient, { id: clientId }))) {
      throw new OAuthFault('invalid_client', 'The client is not registered. Register again.')
    }
    return issue(request, clientId, source)
  }
}
