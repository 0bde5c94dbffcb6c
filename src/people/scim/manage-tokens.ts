/** Tokens of the directory. A token is shown once and stored as a hash. */
import type { AuditedNeeds, UserActor } from '../../journal/audit/append.ts'
import { randomBase62, sha256 } from '../../platform/ground/crypto.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { isId, newId } from '../../platform/ground/ids.ts'
import { isoOrNull } from '../../platform/ground/instant.ts'
import { dayMs } from '../../platform/ground/units.ts'
import { asOwner } from '../team/change-team.ts'
import {
  deleteScimToken,
  dropExpiredTokens,
  findScimToken,
  insertScimToken,
  listScimTokens,
  markTokenUsed,
} from './store/scim-token-rows.ts'

/** Two, so that one can be replaced without a pause. */
const maxLiveTokens = 2
const tokenShape = /^scim_[0-9A-Za-z]{43}$/

export type DirectoryCaller = { orgId: string; tokenId: string }

export const makeManageScimTokens = ({ db, clock, audit }: AuditedNeeds) => ({
  list: (orgId: string, page: PageAsked) => db.rows(listScimTokens, { orgId, ...keysetOf(page) }),

  create: (orgId: string, actor: UserActor, { name, expiresInDays }: { name: string; expiresInDays: number | null }) =>
    asOwner(db, orgId, actor, async (tx) => {
      const at = clock.now()
      const token = `scim_${randomBase62(43)}`
      const expiresAt = expiresInDays === null ? null : new Date(at.getTime() + expiresInDays * dayMs)
      await tx.change(dropExpiredTokens, { orgId, at })
      const row = await tx.row(insertScimToken, {
        orgId,
        id: newId('scimToken', at.getTime()),
        name,
        tokenHash: sha256(token),
        createdBy: actor.userId,
        at,
        expiresAt,
        max: maxLiveTokens,
      })
      if (!row) throw new Failure('SCIM_TOKEN_LIMIT')
      const metadata = { name, expires_at: isoOrNull(expiresAt) }
      const entry = { orgId, actor, action: 'scim.token_created', resourceType: 'scim_token' } as const
      await audit(tx, { ...entry, resourceId: row.id, metadata })
      return { row, token }
    }),

  revoke: (orgId: string, actor: UserActor, id: string) =>
    asOwner(db, orgId, actor, async (tx) => {
      const revoked = isId('scimToken', id) ? await tx.row(deleteScimToken, { orgId, id }) : undefined
      if (!revoked) throw new Failure('NOT_FOUND')
      const entry = { orgId, actor, action: 'scim.token_revoked', resourceType: 'scim_token' } as const
      await audit(tx, { ...entry, resourceId: id, metadata: { name: revoked.name } })
    }),

  /** The org of a token. Undefined if the token is unknown or expired, or if its org is deleted. */
  find: async (token: string) => {
    if (!tokenShape.test(token)) return undefined
    const at = clock.now()
    const found = await db.row(findScimToken, { tokenHash: sha256(token), at })
    if (!found) return undefined
    const { org_id: orgId, id, last_used_at: lastUsed } = found
    // A directory makes many calls in a row, and each would write the row.
    const before = new Date(at.getTime() - 60_000)
    if (lastUsed === null || lastUsed < before) await db.change(markTokenUsed, { orgId, id, at, before })
    return { orgId, tokenId: id }
  },
})

export type ManageScimTokens = ReturnType<typeof makeManageScimTokens>
