/** The decision of a person about a client's request. */
import { assertOpenTo } from '../../customers/accounts/sso-enforcement.ts'
import type { ScopeName } from '../../customers/keys/scopes.ts'
import type { AuditedNeeds, UserActor } from '../../journal/audit/append.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { isId, newId } from '../../platform/ground/ids.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import type { Authorize } from './authorize.ts'
import { isGrantable, roleAllows, scopeSentences } from './grantable.ts'
import { auditEndedGrants } from './manage-grants.ts'
import { OAuthFault } from './oauth-error.ts'
import { redirectHost, withParameters } from './redirect-uri.ts'
import type { ConsentBody } from './shapes.ts'
import { useClient } from './store/client-rows.ts'
import { endExcessGrants, insertGrant } from './store/grant-rows.ts'
import {
  findRequest,
  listOrgChoices,
  lockOrgChoice,
  type OrgChoiceRow,
  type RequestRow,
  takeRequest,
} from './store/request-rows.ts'
import { newAuthorizationCode } from './token-secret.ts'

const codeMs = 60_000
/** Grants of one client for one person on one org. */
const maxGrants = 20
/** More than a person can choose from. */
const maxOrgs = 500

type Needs = AuditedNeeds & { baseUrl: () => string; refusal: Authorize['refusal'] }
type Allowed = Extract<ConsentBody, { decision: 'allow' }>

/** The page offers only what was asked for and can be granted. Anything else was not chosen on the page. */
const checkScopes = (asked: RequestRow, org: OrgChoiceRow, chosen: readonly ScopeName[]): void => {
  const granted = chosen.every((scope) => asked.scopes.includes(scope) && roleAllows(org.role, scope))
  if (!granted) throw new Failure('SCOPE_NOT_GRANTABLE')
}

export const makeConsent = ({ db, clock, audit, baseUrl, refusal }: Needs) => {
  type Deciding = { actor: UserActor; sessionId: string }
  const allow = async (tx: Tx, { actor, sessionId }: Deciding, request: RequestRow, body: Allowed): Promise<string> => {
    const { userId } = actor
    const org = isId('org', body.org_id) ? await tx.row(lockOrgChoice, { orgId: body.org_id, userId }) : undefined
    if (!org) throw new Failure('NOT_FOUND')
    await assertOpenTo(tx, { userId, sessionId }, org.id)
    checkScopes(request, org, body.scopes)
    if (org.suspended) throw new Failure('ORG_SUSPENDED')
    const at = clock.now()
    const code = newAuthorizationCode()
    const scopes = request.scopes.filter((scope) => body.scopes.includes(scope))
    const grant = { orgId: org.id, id: newId('oauthGrant', at.getTime()), clientId: request.client_id, userId }
    await tx.change(insertGrant, {
      ...grant,
      scopes,
      redirectUri: request.redirect_uri,
      codeHash: code.hash,
      codeChallenge: request.code_challenge,
      at,
      codeExpiresAt: new Date(at.getTime() + codeMs),
    })
    await tx.change(useClient, { id: request.client_id, at })
    const { orgId, clientId } = grant
    const entry = { orgId, actor, action: 'oauth.granted', resourceType: 'oauth_grant', resourceId: grant.id } as const
    await audit(tx, { ...entry, metadata: { client_id: clientId, client_name: request.client_name, scopes } })
    const replaced = await tx.rows(endExcessGrants, { orgId, userId, clientId, kept: maxGrants })
    await auditEndedGrants(audit, tx, actor, 'replaced', replaced)
    return withParameters(request.redirect_uri, { code: code.text, state: request.state, iss: baseUrl() })
  }

  return {
    /** What the consent page shows. */
    read: async (userId: string, id: string) => {
      const request = await orNotFound(db.row(findRequest, { userId, id, at: clock.now() }))
      const orgs = await db.rows(listOrgChoices, { userId, limit: maxOrgs })
      return {
        request_id: id,
        client: {
          id: request.client_id,
          name: request.client_name,
          redirect_host: redirectHost(request.redirect_uri),
        },
        scopes: request.scopes.filter(isGrantable).map((name) => ({
          name,
          description: scopeSentences[name],
          grantable: orgs.some(({ role }) => roleAllows(role, name)),
        })),
        orgs: orgs.map(({ id: orgId, name, role }) => ({ id: orgId, name, role })),
      }
    },
    /** Returns the address that the browser goes to. An org that is closed to the session is refused. */
    decide: (actor: UserActor, sessionId: string, body: ConsentBody) =>
      db.tx(async (tx) => {
        const { userId } = actor
        const request = await orNotFound(tx.row(takeRequest, { userId, id: body.request_id, at: clock.now() }))
        if (body.decision === 'allow') return allow(tx, { actor, sessionId }, request, body)
        return refusal(request.redirect_uri, request.state, new OAuthFault('access_denied', 'Access was not allowed.'))
      }),
  }
}

export type Consent = ReturnType<typeof makeConsent>
