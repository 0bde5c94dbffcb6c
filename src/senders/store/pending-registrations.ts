import { statement } from '../../db/statement.ts'

export type PendingRegistrations = { brands: number; campaigns: number; phone_numbers: number; dlt: number }

/** How many live registrations of the org wait for a decision. */
export const countPendingRegistrations = statement<{ orgId: string }, PendingRegistrations>(
  'senders.count_pending',
  `select
     (select count(*) from brands
      where org_id = :orgId and environment = 'live' and status = 'pending') as brands,
     (select count(*) from campaigns
      where org_id = :orgId and environment = 'live' and status = 'pending') as campaigns,
     (select count(*) from phone_numbers
      where org_id = :orgId and environment = 'live' and status = 'pending') as phone_numbers,
     (select count(*) from dlt_entities
      where org_id = :orgId and environment = 'live' and status in ('pending', 'submitted'))
     + (select count(*) from dlt_headers
      where org_id = :orgId and environment = 'live' and status in ('pending', 'submitted'))
     + (select count(*) from dlt_templates
      where org_id = :orgId and environment = 'live' and status in ('pending', 'submitted')) as dlt`,
)
