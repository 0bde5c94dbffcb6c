/** Lists grants, and ends them: by the person, an owner or the client, and when the person leaves the org or the service. */
import type { Actor, Audit, AuditedNeeds, UserActor } from '../../journal/audit/append.ts'
import type { StoreNeeds, Tx } from '../../platform/db/pool.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { isId } from '../../platform/ground/ids.ts'
import {
  type EndedGrantRow,
  endGrantOfOrg,
  endGrantOfUser,
  endGrantsOfAccount,
  endGrantsOfMember,
  listGrantsOfOrg,
  listGrantsOfUser,
  revokeAccessToken,
  revokeByFamily,
} from './store/grant-rows.ts'
import { familyOf, isAccessShaped } from './token-secret.ts'

/** Where the request came from, for the audit entry of a grant that it ends. */
export type TokenSource = { ip: string | null; userAgent: string }

/** Why a grant ended. */
export type GrantEnd =
  | 'user'
  | 'owner'
  | 'client'
  | 'member_removed'
  | 'member_left'
  | 'password_changed'
  | 'signed_out'
  | 'account_deleted'
  | 'replaced'
  | 'code_reused'
  | 'refresh_token_reused'

export const auditEndedGrants = async (
  audit: Audit,
  tx: Tx,
  actor: Actor,
  reason: GrantEnd,
  ended: readonly EndedGrantRow[],
): Promise<void> => {
  const entries = ended.map((grant) => ({
    orgId: grant.org_id,
    actor,
    action: 'oauth.revoked' as const,
    resourceType: 'oauth_grant',
    resourceId: grant.id,
    // A deleted person stays in no entry.
    metadata: {
      client_id: grant.client_id,
      reason,
      ...(reason !== 'account_deleted' && { user_id: grant.user_id }),
    },
  }))
  await audit(tx, ...entries)
}

export const makeEndGrants = ({ db, clock, audit }: AuditedNeeds) => {
  const end = (
    actor: UserActor,
    reason: GrantEnd,
    id: string,
    run: (tx: Tx) => Promise<EndedGrantRow | undefined>,
  ): Promise<void> =>
    db.tx(async (tx) => {
      const ended = isId('oauthGrant', id) ? await run(tx) : undefined
      if (!ended) throw new Failure('NOT_FOUND')
      await auditEndedGrants(audit, tx, actor, reason, [ended])
    })

  return {
    /** `onlyOrgId` limits it to grants on that org. */
    own: (actor: UserActor, id: string, onlyOrgId: string | null) =>
      end(actor, 'user', id, (tx) => tx.row(endGrantOfUser, { userId: actor.userId, id, onlyOrgId, at: clock.now() })),
    ofOrg: (orgId: string, actor: UserActor, id: string) =>
      end(actor, 'owner', id, (tx) => tx.row(endGrantOfOrg, { orgId, id, at: clock.now() })),
    /** In the transaction that ends the membership. */
    ofMember: async (
      tx: Tx,
      actor: Actor,
      { orgId, userId, left }: { orgId: string; userId: string; left?: boolean },
    ) => {
      const ended = await tx.rows(endGrantsOfMember, { orgId, userId })
      await auditEndedGrants(audit, tx, actor, left ? 'member_left' : 'member_removed', ended)
    },
    /** On one org, or on all of them. In the transaction of what ends them. */
    ofPerson: async (
      tx: Tx,
      actor: Actor,
      { userId, orgId }: { userId: string; orgId: string | null },
      reason: Extract<GrantEnd, 'password_changed' | 'signed_out'>,
    ) => {
      const ended =
        orgId === null
          ? await tx.rows(endGrantsOfAccount, { userId })
          : await tx.rows(endGrantsOfMember, { orgId, userId })
      await auditEndedGrants(audit, tx, actor, reason, ended)
    },
    /** In the transaction that deletes the account. Orgs that are deleted along with it have ended their grants already. */
    ofAccount: async (tx: Tx, actor: UserActor) => {
      const { userId } = actor
      await auditEndedGrants(audit, tx, actor, 'account_deleted', await tx.rows(endGrantsOfAccount, { userId }))
    },
    /** A refresh token ends its grant, an access token only itself. An unknown token is not an error. */
    byToken: async (token: string, given: string | undefined, source: TokenSource) => {
      const clientId = given ?? null
      if (isAccessShaped(token)) {
        await db.change(revokeAccessToken, { hash: sha256(token), clientId })
        return
      }
      const family = familyOf(token)
      if (family === undefined) return
      await db.tx(async (tx) => {
        const ended = await tx.row(revokeByFamily, { familyHash: sha256(family), clientId })
        if (!ended) return
        const actor: Actor = { kind: 'user', userId: ended.user_id, clientId: ended.client_id, ...source }
        await auditEndedGrants(audit, tx, actor, 'client', [ended])
      })
    },
  }
}

export type EndGrants = ReturnType<typeof makeEndGrants>

export const makeListGrants = ({ db, clock }: StoreNeeds) => ({
  /** With `onlyOrgId`, those in that org. */
  ofUser: (of: { userId: string; onlyOrgId: string | null }, page: PageAsked) =>
    db.rows(listGrantsOfUser, { ...of, at: clock.now(), ...keysetOf(page) }),
  ofOrg: (orgId: string, page: PageAsked) => db.rows(listGrantsOfOrg, { orgId, at: clock.now(), ...keysetOf(page) }),
})

export type ListGrants = ReturnType<typeof makeListGrants>
