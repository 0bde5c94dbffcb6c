import { columns, number, oneOf, type RowOf, text, time } from '../../platform/db/columns.ts'
import { type NoParams, statement } from '../../platform/db/statement.ts'
import type { Plan } from './plans.ts'

const orgColumns = columns({
  id: text,
  name: text,
  slug: text,
  plan: oneOf<Plan>(),
  owner_user_id: text.orNull,
  rate_limit_per_minute: number.orNull,
  email_monthly: number.orNull,
  sms_monthly: number.orNull,
  suspended_at: time.orNull,
  suspension_reason: text.orNull,
  created_at: time,
})

export type OrgRow = RowOf<typeof orgColumns>

type FirstStep = 'verify_domain' | 'add_webhook'

/**
 * A part of a statement that does one of the first steps of an org, so that the step stays done when its row is removed.
 * Only the first time writes.
 */
export const rememberStep = (step: FirstStep, condition = 'true'): string =>
  `update orgs set first_steps = array_append(first_steps, '${step}')
     where id = :orgId and not first_steps @> array['${step}'] and ${condition}`

/** Returns no row if the slug is taken. */
export const insertOrg = statement<{ id: string; name: string; slug: string; plan: Plan; at: Date }, { id: string }>(
  'orgs.insert',
  `insert into orgs (id, name, slug, plan, created_at, updated_at)
   values (:id, :name, :slug, :plan, :at, :at)
   on conflict (slug) do nothing
   returning id`,
)

export const setOwner = statement<{ orgId: string; userId: string; at: Date }>(
  'orgs.set_owner',
  'update orgs set owner_user_id = :userId, updated_at = :at where id = :orgId',
)

export const findOrg = statement<{ orgId: string }, OrgRow>(
  'orgs.find',
  `select ${orgColumns} from orgs where id = :orgId and deleted_at is null`,
)

/** Newest first. Ids are in the order of creation. `afterId` is the last org of the previous page. */
export const listOrgs = statement<{ afterId: string | null; limit: number }, OrgRow>(
  'orgs.list',
  `select ${orgColumns} from orgs
   where deleted_at is null and (:afterId::text is null or id < :afterId)
   order by id desc
   limit :limit`,
)

/** All orgs, in the order of their ids. */
export const orgIdsAfter = statement<{ afterOrgId: string; limit: number }, { org_id: string }>(
  'orgs.ids_after',
  'select id as org_id from orgs where id > :afterOrgId order by id limit :limit',
)

export const anyOrg = statement<NoParams, { id: string }>('orgs.any', 'select id from orgs limit 1')

export const suspendOrg = statement<{ orgId: string; reason: string; at: Date }, { id: string }>(
  'orgs.suspend',
  `update orgs set suspended_at = :at, suspension_reason = :reason, updated_at = :at
   where id = :orgId and suspended_at is null
   returning id`,
)

export const unsuspendOrg = statement<{ orgId: string; at: Date }, { id: string }>(
  'orgs.unsuspend',
  `update orgs set suspended_at = null, suspension_reason = null, updated_at = :at
   where id = :orgId and suspended_at is not null
   returning id`,
)

/** A null limit keeps the current one. A move to another plan resets the limits that are null to the plan's. */
export const setPlan = statement<
  { orgId: string; plan: Plan; rate: number | null; email: number | null; sms: number | null; at: Date },
  OrgRow
>(
  'orgs.set_plan',
  `update orgs set
     plan = :plan,
     rate_limit_per_minute = coalesce(:rate::integer, case when plan = :plan then rate_limit_per_minute end),
     email_monthly = coalesce(:email::bigint, case when plan = :plan then email_monthly end),
     sms_monthly = coalesce(:sms::bigint, case when plan = :plan then sms_monthly end),
     updated_at = :at
   where id = :orgId
   returning ${orgColumns}`,
)

/** Serializes creations that a plan limits, so that two concurrent ones cannot both pass the count. */
export const lockOrg = statement<{ orgId: string }, { plan: Plan }>(
  'orgs.lock',
  'select plan from orgs where id = :orgId for no key update',
)

export const findSmsGeo = statement<{ orgId: string }, { sms_geo: string | null }>(
  'orgs.find_sms_geo',
  'select sms_geo from orgs where id = :orgId',
)

export const findOwnSmsGeo = statement<
  { orgId: string },
  { sms_geo: string | null; sms_geo_updated_at: Date | null; sms_geo_updated_by: string | null }
>(
  'orgs.find_own_sms_geo',
  'select sms_geo, sms_geo_updated_at, sms_geo_updated_by from orgs where id = :orgId and deleted_at is null',
)

/** Returns the former value. An unchanged one keeps its time and its author. */
export const setSmsGeo = statement<
  { orgId: string; geo: string | null; userId: string | null; at: Date },
  { former: string | null }
>(
  'orgs.set_sms_geo',
  `with former as (select sms_geo from orgs where id = :orgId for no key update)
   update orgs set
     sms_geo = :geo::text,
     sms_geo_updated_at = case when former.sms_geo is distinct from :geo::text then :at::timestamptz else sms_geo_updated_at end,
     sms_geo_updated_by = case when former.sms_geo is distinct from :geo::text then :userId::text else sms_geo_updated_by end,
     updated_at = :at
   from former
   where id = :orgId
   returning former.sms_geo as former`,
)

/** Returns the former cap, or no row if it is the same. */
export const setSpendCap = statement<{ orgId: string; capMicros: number | null; at: Date }, { former: number | null }>(
  'orgs.set_spend_cap',
  `with former as (select spend_cap_micros from orgs where id = :orgId for no key update)
   update orgs set spend_cap_micros = :capMicros::bigint, updated_at = :at
   from former
   where id = :orgId and former.spend_cap_micros is distinct from :capMicros::bigint
   returning former.spend_cap_micros as former`,
)
