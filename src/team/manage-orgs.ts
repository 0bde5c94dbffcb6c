/** What members do with orgs: create, look at, change. */
import type { Audit, UserActor } from '../audit/append.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { BeginOrg } from './begin-org.ts'
import { lockAsOwner } from './change-team.ts'
import type { CreateOwnOrg } from './shapes.ts'
import { findOrgSettings, findOwnOrg, findSlugHolder, type OwnOrgRow, setOrgSettings } from './store/own-org-rows.ts'

const perDay = 10
const dayMs = 86_400_000

export interface ManageOrgs {
  /** The org as this member sees it. An org that the user does not belong to is not found. */
  get(orgId: string, userId: string): Promise<OwnOrgRow>
  create(actor: UserActor, given: CreateOwnOrg): Promise<OwnOrgRow>
  change(
    orgId: string,
    actor: UserActor,
    patch: { name?: string | undefined; sms_quiet_hours?: boolean | undefined },
  ): Promise<OwnOrgRow>
}

type Needs = { db: Db; clock: Clock; audit: Audit; limiter: Limiter | undefined; beginOrg: BeginOrg }

export const makeManageOrgs = ({ db, clock, audit, limiter, beginOrg }: Needs): ManageOrgs => {
  const get = async (from: Pick<Db, 'row'>, orgId: string, userId: string): Promise<OwnOrgRow> => {
    const org = await from.row(findOwnOrg, { orgId, userId })
    if (!org) throw new Failure('NOT_FOUND')
    return org
  }

  const spend = async (userId: string): Promise<void> => {
    const taken = await limiter?.take([{ name: `{${userId}}:orgs`, limit: perDay, windowMs: dayMs }], clock.millis())
    if (!taken || taken.allowed) return
    const retryAfter = Math.ceil(((taken.states[0]?.resetAt ?? 0) - clock.millis()) / 1_000)
    const flatMessage = 'You can create at most 10 organisations per day. Try again later.'
    throw new Failure('RATE_LIMITED', { retryAfter, flatMessage })
  }

  return {
    get: (orgId, userId) => get(db, orgId, userId),

    create: async (actor, { name, slug }) => {
      const { userId } = actor
      // Before the limit of a day is spent.
      if (slug !== undefined && (await db.row(findSlugHolder, { slug }))) throw new Failure('ORG_SLUG_TAKEN')
      await spend(userId)
      return db.tx(async (tx) => get(tx, (await beginOrg(tx, actor, { name, slug, userId })).id, userId))
    },

    change: (orgId, actor, patch) =>
      db.tx(async (tx) => {
        await lockAsOwner(tx, orgId, actor)
        const old = await tx.row(findOrgSettings, { orgId })
        if (!old) throw new Failure('NOT_FOUND')
        const next = {
          name: patch.name ?? old.name,
          sms_quiet_hours: patch.sms_quiet_hours ?? old.sms_quiet_hours,
        }
        if (next.name !== old.name || next.sms_quiet_hours !== old.sms_quiet_hours) {
          const { name, sms_quiet_hours: smsQuietHours } = next
          await tx.change(setOrgSettings, { orgId, name, smsQuietHours, at: clock.now() })
          const metadata = { old, new: next }
          await audit(tx, { orgId, actor, action: 'org.updated', resourceType: 'org', resourceId: orgId, metadata })
        }
        return get(tx, orgId, actor.userId)
      }),
  }
}
