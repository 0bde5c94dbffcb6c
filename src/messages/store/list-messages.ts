/** Reads one message or a page of messages. */
import { statement } from '../../db/statement.ts'
import type { Keyset } from '../../ground/cursor.ts'
import type { Environment } from '../../ground/scope.ts'
import { type MessageRow, messageColumnsOf } from './message-row.ts'

export const findMessage = statement<
  {
    orgId: string
    tenantId: string | null
    environment: Environment
    projectId: string | null
    channel: string
    id: string
    createdAt: Date
  },
  MessageRow
>(
  'messages.find',
  `select ${messageColumnsOf('m')}
   from messages m
   where org_id = :orgId
     and (:tenantId::text is null or tenant_id = :tenantId)
     and environment = :environment
     and (:projectId::text is null or project_id = :projectId)
     and channel = :channel
     and id = :id
     and created_at = :createdAt`,
)

export type ListedRow = Pick<
  MessageRow,
  | 'id'
  | 'channel'
  | 'status'
  | 'from_address'
  | 'to_addresses'
  | 'subject'
  | 'created_at'
  | 'sent_at'
  | 'delivered_at'
  | 'sms'
>

type ListParams = Keyset & {
  orgId: string
  environment: Environment
  channel: string
  tenantId: string | null
  projectId: string | null
  status: string | null
  tag: string | null
  tagMark: number | null
  to: string | null
  toMark: number | null
  createdAfter: Date | null
  createdBefore: Date | null
}

const listedColumns = 'id, channel, status, from_address, to_addresses, subject, created_at, sent_at, delivered_at, sms'

// Filters that apply only when their parameter is set.
const optionalTenant = '(:tenantId::text is null or tenant_id = :tenantId)'
const optionalProject = '(:projectId::text is null or project_id = :projectId)'
const optionalStatus = '(:status::text is null or status = :status)'

// The index is on the marks, which are hashes. Comparing the value itself excludes other values with the same mark.
const hasTag = 'marks @> array[:tagMark::integer] and :tag = any(tags)'
const hasRecipient = `marks @> array[:toMark::integer]
         and addresses_in(org_id, to_addresses) @> array[:orgId || ' ' || :to]`
const optionalTag = `(:tag::text is null or (${hasTag}))`
const optionalRecipient = `(:to::text is null or (${hasRecipient}))`

/** The earlier of `createdBefore` and the time in the cursor. */
const newest = `least(coalesce(:createdBefore::timestamptz, 'infinity'), coalesce(:afterAt::timestamptz, 'infinity'))`

/**
 * The time range and the cursor, for statements that read an index in the order of creation. Bounds are always
 * present, at infinity if need be: PostgreSQL cannot use `:x is null or created_at >= :x` as an index range in a
 * generic plan. The upper bound appears twice because only `created_at <= …` prunes partitions, and only the row
 * comparison continues exactly after the cursor. Without a cursor the id is compared with 'zzz', which sorts after
 * every id.
 */
const inRange = `created_at >= coalesce(:createdAfter::timestamptz, '-infinity')
       and created_at <= ${newest}
       and (created_at, id) < (
         ${newest},
         case when :afterAt::timestamptz <= ${newest} then :afterId::text else 'zzz' end
       )`

/**
 * The time range and the cursor, for the search by tag or recipient. Here the bounds are optional on purpose: few rows
 * match a mark, and with fixed bounds the planner would walk an index in the order of creation instead.
 */
const inRangeOfFew = `(:createdAfter::timestamptz is null or created_at >= :createdAfter)
       and (:createdBefore::timestamptz is null or created_at <= :createdBefore)
       and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))`

/**
 * One statement per index. The generic plan of a prepared statement cannot know which filters will be null, so the
 * filter that an index serves must not be optional. Otherwise a tenant with few messages in an org with millions would
 * be read by scanning the org's messages.
 */
export const listMessages = {
  all: statement<ListParams, ListedRow>(
    'messages.list',
    `select ${listedColumns}
     from messages
     where org_id = :orgId and environment = :environment and channel = :channel
       and ${optionalTenant}
       and ${optionalProject}
       and ${optionalStatus}
       and ${optionalTag}
       and ${optionalRecipient}
       and ${inRange}
     order by created_at desc, id desc
     limit :limit`,
  ),
  byTenant: statement<ListParams, ListedRow>(
    'messages.list_tenant',
    `select ${listedColumns}
     from messages
     where org_id = :orgId and environment = :environment and channel = :channel
       and tenant_id = :tenantId
       and ${optionalProject}
       and ${optionalStatus}
       and ${optionalTag}
       and ${optionalRecipient}
       and ${inRange}
     order by created_at desc, id desc
     limit :limit`,
  ),
  byProject: statement<ListParams, ListedRow>(
    'messages.list_project',
    `select ${listedColumns}
     from messages
     where org_id = :orgId and environment = :environment and channel = :channel
       and ${optionalTenant}
       and project_id = :projectId
       and ${optionalStatus}
       and ${optionalTag}
       and ${optionalRecipient}
       and ${inRange}
     order by created_at desc, id desc
     limit :limit`,
  ),
  /** For every status that the partial index covers, which is all but `sent` and `delivered`. */
  byStatus: statement<ListParams, ListedRow>(
    'messages.list_status',
    `select ${listedColumns}
     from messages
     where org_id = :orgId and environment = :environment and channel = :channel
       and ${optionalTenant}
       and ${optionalProject}
       and status = :status
       and ${optionalTag}
       and ${optionalRecipient}
       and status not in ('sent', 'delivered')
       and ${inRange}
     order by created_at desc, id desc
     limit :limit`,
  ),
  byTag: statement<ListParams, ListedRow>(
    'messages.list_tag',
    `select ${listedColumns}
     from messages
     where org_id = :orgId and environment = :environment and channel = :channel
       and ${optionalTenant}
       and ${optionalProject}
       and ${optionalStatus}
       and ${hasTag}
       and ${optionalRecipient}
       and ${inRangeOfFew}
     order by created_at desc, id desc
     limit :limit`,
  ),
  byRecipient: statement<ListParams, ListedRow>(
    'messages.list_recipient',
    `select ${listedColumns}
     from messages
     where org_id = :orgId and environment = :environment and channel = :channel
       and ${optionalTenant}
       and ${optionalProject}
       and ${optionalStatus}
       and ${optionalTag}
       and ${hasRecipient}
       and ${inRangeOfFew}
     order by created_at desc, id desc
     limit :limit`,
  ),
}
