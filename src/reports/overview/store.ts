/** What the first page of the dashboard shows besides figures and usage. */
import { statement } from '../../platform/db/statement.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import { type EndpointRow, endpointColumns } from '../../webhooks/store/endpoint-rows.ts'

export type Setup = {
  verify_domain: boolean
  create_api_key: boolean
  send_message: boolean
  add_webhook: boolean
  verify_sms_sender: boolean
}

/** How many live registrations of the org wait for a decision. */
export type PendingRegistrations = { brands: number; campaigns: number; phone_numbers: number; dlt: number }

export const firstSteps = ['create_api_key', 'send_message', 'see_it_sent', 'verify_domain', 'add_webhook'] as const
type DoneStep = (typeof firstSteps)[number]

type FirstStepsRow = Record<DoneStep, boolean> & { slug: string; domain: string | null; domain_waits: boolean }

const hasSent = (environment: Environment): string =>
  `exists (select from messages where org_id = :orgId and channel = 'email' and environment = '${environment}')
       or exists (select from messages where org_id = :orgId and channel = 'sms' and environment = '${environment}')`

/** How many live rows of the table have this status. */
const countIn = (table: string, status = "in ('pending', 'submitted')"): string =>
  `(select count(*) from ${table} where org_id = :orgId and environment = 'live' and status ${status})`

/**
 * Which of the first steps an org has ever done. Each looks for one row by an index. Keys, messages and counters are never
 * deleted; what can be removed is remembered with the org.
 */
export const readFirstSteps = statement<{ orgId: string }, FirstStepsRow>(
  'overview.read_first_steps',
  `select o.slug,
     exists (select from api_keys where org_id = :orgId) as create_api_key,
     ${hasSent('live')} or ${hasSent('test')} as send_message,
     exists (select from usage_counters
       where org_id = :orgId and subject = 'org' and environment in ('live', 'test') and measure in ('email', 'sms')
         and used > 0) as see_it_sent,
     o.first_steps @> array['verify_domain'] or verified.name is not null as verify_domain,
     o.first_steps @> array['add_webhook'] or exists (select from webhook_endpoints where org_id = :orgId)
       as add_webhook,
     verified.name as domain,
     verified.name is null and exists (select from domains where org_id = :orgId) as domain_waits
   from orgs o left join lateral (
     select name from domains where org_id = :orgId and status = 'verified' order by id limit 1
   ) verified on true
   where o.id = :orgId`,
)

type NoEndpoint = Record<keyof EndpointRow, null>

/**
 * Which steps of the setup are done, what is pending, and the endpoints that were disabled because they kept failing or
 * whose last delivery failed. The worst are first. Each step looks for one row by an index. There is a row for each
 * endpoint, or one row without an endpoint.
 */
export const readCondition = statement<
  { orgId: string; maxUnhealthy: number },
  Setup & { pending: PendingRegistrations } & (EndpointRow | NoEndpoint)
>(
  'overview.read_condition',
  `select
     exists (select from domains where org_id = :orgId and status = 'verified') as verify_domain,
     exists (select from api_keys where org_id = :orgId and environment = 'live' and revoked_at is null)
       as create_api_key,
     ${hasSent('live')}
       -- Retention may have removed them.
       or exists (select from usage_counters where org_id = :orgId and subject = 'org' and environment = 'live'
         and measure in ('email', 'sms') and used > 0)
       as send_message,
     exists (select from webhook_endpoints where org_id = :orgId and enabled) as add_webhook,
     exists (select from phone_numbers where org_id = :orgId and environment = 'live' and status = 'verified')
       as verify_sms_sender,
     json_build_object(
       'brands', ${countIn('brands', "= 'pending'")},
       'campaigns', ${countIn('campaigns', "= 'pending'")},
       'phone_numbers', ${countIn('phone_numbers', "= 'pending'")},
       'dlt', ${countIn('dlt_entities')} + ${countIn('dlt_headers')} + ${countIn('dlt_templates')}
     ) as pending,
     ${endpointColumns}
   from (values (1)) as one_row left join lateral (
     select ${endpointColumns} from webhook_endpoints
     where org_id = :orgId and (disabled_reason = 'auto' or (enabled and consecutive_failures > 0))
     order by enabled, consecutive_failures desc, id
     limit :maxUnhealthy
   ) unhealthy on true`,
)
