/** What members do with orgs: create, look at, change. */
import { assertOpenTo } from '../../customers/accounts/sso-enforcement.ts'
import type { Actor, Audit, AuditedNeeds, UserActor } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { dayMs } from '../../platform/ground/units.ts'
import type { Limiter } from '../../platform/limits/limiter.ts'
import { createOwnedOrg } from '../signin/new-org.ts'
import { asOwner, spend } from './change-team.ts'
import type { CreateOwnOrg } from './shapes.ts'
import {
  findOrgSettings,
  findOwnOrg,
  findSlugHolder,
  listOwnOrgs,
  type OwnOrgRow,
  setOrgSettings,
} from './store/own-org-rows.ts'
import { setFirstDefaultOrg } from './store/team-rows.ts'

/**
 * A new org with its first owner, the owner pointer and the default project, in the transaction of the caller. A user
 * without a default org gets this one.
 */
type BeginOrg = (
  tx: Tx,
  actor: Actor,
  input: { name: string; slug?: string | undefined; userId: string },
) => Promise<{ id: string }>

export const makeBeginOrg =
  ({ clock, audit }: { clock: Clock; audit: Audit }): BeginOrg =>
  async (tx, actor, { name, slug: chosen, userId }) => {
    const at = clock.now()
    const { id, slug } = await createOwnedOrg(tx, { name, slug: chosen, userId, at })
    await tx.change(setFirstDefaultOrg, { orgId: id, userId, at })
    const metadata = { name, slug }
    await audit(tx, { orgId: id, actor, action: 'org.created', resourceType: 'org', resourceId: id, metadata })
    return { id }
  }

const perDay = 10

type Needs = AuditedNeeds & { limiter: Limiter | undefined; beginOrg: BeginOrg }

export const makeManageOrgs = ({ db, clock, audit, limiter, beginOrg }: Needs) => {
  const get = (from: Pick<Db, 'row'>, orgId: string, userId: string): Promise<OwnOrgRow> =>
    orNotFound(from.row(findOwnOrg, { orgId, userId }))

  return {
    list: (userId: string, page: PageAsked) => db.rows(listOwnOrgs, { userId, ...keysetOf(page) }),

    /** An org that the user may switch to in this session. */
    open: async (orgId: string, session: { userId: string; sessionId: string }) => {
      const org = await get(db, orgId, session.userId)
      await assertOpenTo(db, session, org.id)
      return org
    },

    /** The org as this member sees it. An org that the user does not belong to is not found. */
    get: (orgId: string, userId: string) => get(db, orgId, userId),

    create: async (actor: UserActor, { name, slug }: CreateOwnOrg) => {
      const { userId } = actor
      // Before the limit of a day is spent.
      if (slug !== undefined && (await db.row(findSlugHolder, { slug }))) throw new Failure('ORG_SLUG_TAKEN')
      const bucket = { name: `{${userId}}:orgs`, limit: perDay, windowMs: dayMs }
      await spend({ limiter, clock }, bucket, 'You can create at most 10 organisations per day. Try again later.')
      return db.tx(async (tx) => get(tx, (await beginOrg(tx, actor, { name, slug, userId })).id, userId))
    },

    change: (
      orgId: string,
      actor: UserActor,
      patch: { name?: string | undefined; sms_quiet_hours?: boolean | undefined },
    ) =>
      asOwner(db, orgId, actor, async (tx) => {
        const old = await orNotFound(tx.row(findOrgSettings, { orgId }))
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

export type ManageOrgs = ReturnType<typeof makeManageOrgs>
