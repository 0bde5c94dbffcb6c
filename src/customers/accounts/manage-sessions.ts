/** The device list of a user, and the end of sessions on it. */
import type { Actor } from '../../journal/audit/append.ts'
import type { StoreNeeds, Tx } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { isId } from '../../platform/ground/ids.ts'
import { deviceName } from './device-name.ts'
import type { RecordPersonal } from './personal-audit.ts'
import { endSessions, findStrictestPolicy, listSessions } from './store/session-rows.ts'

const maxListed = 200

type Owner = {
  userId: string
  sessionId: string
  orgId: string | null
  ssoOrgId: string | null
  ownFactors: boolean
}

/** Ends what programs may do for a person, on one org or on all of them. */
export type EndProgramAccess = (tx: Tx, actor: Actor, of: { userId: string; orgId: string | null }) => Promise<unknown>

/** Without the own factors of the person, a session knows and ends only sessions of the same identity provider. */
const reachOf = ({ ssoOrgId, ownFactors }: Owner): string | null => (ownFactors ? null : ssoOrgId)

type Needs = StoreNeeds & { recordPersonal: RecordPersonal; endPrograms: EndProgramAccess }

export const makeManageSessions = ({ db, clock, recordPersonal, endPrograms }: Needs) => ({
  list: async (owner: Owner) => {
    const { userId, sessionId } = owner
    const policy = await db.row(findStrictestPolicy, { userId })
    const rows = await db.rows(listSessions, {
      userId,
      currentId: sessionId,
      providerOrgId: reachOf(owner),
      now: clock.now(),
      maxAgeHours: policy?.max_session_age_hours ?? null,
      limit: maxListed,
    })
    return rows.map((row) => ({ ...row, device: deviceName(row.user_agent), current: row.id === sessionId }))
  },
  /**
   * Ends one session of the user, or with `others` all but the current one and the access of programs. Returns how many
   * sessions ended.
   */
  revoke: (owner: Owner, id: string, actor: Actor) =>
    db.tx(async (tx) => {
      const others = id === 'others'
      if (!others && !isId('session', id)) throw new Failure('NOT_FOUND')
      const ended = await tx.rows(endSessions, {
        userId: owner.userId,
        id: others ? null : id,
        butId: others ? owner.sessionId : null,
        providerOrgId: reachOf(owner),
      })
      if (!others && ended.length === 0) throw new Failure('NOT_FOUND')
      if (others) await endPrograms(tx, actor, { userId: owner.userId, orgId: reachOf(owner) })
      if (ended.length > 0) {
        const sessionIds = ended.map((row) => row.id).sort()
        await recordPersonal(tx, owner.orgId, {
          userId: owner.userId,
          actor,
          action: 'user.sessions_revoked',
          metadata: { count: ended.length, session_ids: sessionIds.slice(0, maxListed) },
        })
      }
      return ended.length
    }),
})

export type ManageSessions = ReturnType<typeof makeManageSessions>
