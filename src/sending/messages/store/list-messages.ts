/** Reads one message or a page of messages. */
import { statement } from '../../../platform/db/statement.ts'
import type { Keyset } from '../../../platform/ground/cursor.ts'
import type { Scope } from '../../../platform/ground/scope.ts'
import { type MessageRow, messageColumnsOf } from './message-row.ts'

/** A message as its channel and a caller name it. A caller without a tenant or a project sees those of all. */
export type OneOfScope = Scope & { channel: string; id: string; createdAt: Date }

export const isOneOfScope = `org_id = :orgId
     and (:tenantId::text is null or tenant_id = :tenantId)
     and environment = :environment
     and (:projectId::text is null or project_id = :projectId)
     and channel = :channel
     and id = :id
     and created_at = :createdAt`

export const findMessage = statement<OneOfScope, MessageRow>(
  'messages.find',
  `select ${messageColumnsOf('m')} from messages m where ${isOneOfScope}`,
)

const listed = [
  'id',
  'channel',
  'status',
  'from_address',
  'to_addresses',
  'subject',
  'created_at',
  'sent_at',
  'delivered_at',
  'sms',
] as const

export type ListedRow = Pick<MessageRow, (typeof listed)[number]>

type ListParams = Keyset &
  Scope & {
    channel: string
    status: string | null
    tag: string | null
    tagMark: number | null
    to: string | null
    toMark: number | null
    createdAfter: Date | null
    createdBefore: Date | null
  }

// The index is on the marks, which are hashes. Comparing the value itself excludes other values with the same mark.
const hasTag = 'marks @> array[:tagMark::integer] and :tag = any(tags)'
const hasRecipient = `marks @> array[:toMark::integer]
         and addresses_in(org_id, to_addresses) @> array[:orgId || ' ' || :to]`

/** Filters that apply only when their parameter is set. */
const optional = {
  tenant: '(:tenantId::text is null or tenant_id = :tenantId)',
  project: '(:projectId::text is null or project_id = :projectId)',
  status: '(:status::text is null or status = :status)',
  tag: `(:tag::text is null or (${hasTag}))`,
  recipient: `(:to::text is null or (${hasRecipient}))`,
}

/** The earlier of `createdBefore` and the time in the cursor. */
const newest = `least(coalesce(:createdBefore::timestamptz, 'infinity'), coalesce(:afterAt::timestamptz, 'infinity'))`

/**
 * The time range and the cursor, for statements that read an index in the order of creation. Bounds are always
 * present, at infinity if need be: PostgreSQL cannot use `:x is null or created_at >= :x` as an index range in a
 * generic plan. Without a cursor the id is compared with 'zzz', which sorts after every id.
 */
export const sinceCreatedAfter = "created_at >= coalesce(:createdAfter::timestamptz, '-infinity')"
export const beforePosition = `(created_at, id) < (
         ${newest},
         case when :afterAt::timestamptz <= ${newest} then :afterId::text else 'zzz' end
       )`

/** Only `created_at <= …` prunes partitions, and only the row comparison continues exactly after the cursor. */
export const inRange = `${sinceCreatedAfter}
       and created_at <= ${newest}
       and ${beforePosition}`

/**
 * A filter that applies only when its parameter is set. Written with `or`, the planner expects it to leave almost no rows,
 * and then may read and sort all messages of the org for one page.
 */
export const whenSet = (param: string, condition: string): string =>
  `(case when ${param}::text is null then true else ${condition} end)`

/**
 * The time range and the cursor, for the search by tag or recipient. Here the bounds are optional on purpose: few rows
 * match a mark, and with fixed bounds the planner would walk an index in the order of creation instead.
 */
export const inRangeOfFew = `(:createdAfter::timestamptz is null or created_at >= :createdAfter)
       and (:createdBefore::timestamptz is null or created_at <= :createdBefore)
       and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))`

/** The filters that an index serves are in `indexed`: they are not optional. */
const listText = (indexed: Partial<typeof optional>, range: string): string =>
  `select ${listed.join(', ')}
   from messages
   where org_id = :orgId and environment = :environment and channel = :channel
     and ${Object.values({ ...optional, ...indexed }).join('\n     and ')}
     and ${range}
   order by created_at desc, id desc
   limit :limit`

/**
 * One statement per index. The generic plan of a prepared statement cannot know which filters will be null, so the
 * filter that an index serves must not be optional. Otherwise a tenant with few messages in an org with millions would
 * be read by scanning the org's messages.
 */
export const listMessages = {
  all: statement<ListParams, ListedRow>('messages.list', listText({}, inRange)),
  byTenant: statement<ListParams, ListedRow>(
    'messages.list_tenant',
    listText({ tenant: 'tenant_id = :tenantId' }, inRange),
  ),
  byProject: statement<ListParams, ListedRow>(
    'messages.list_project',
    listText({ project: 'project_id = :projectId' }, inRange),
  ),
  /** For every status that the partial index covers, which is all but `sent` and `delivered`. */
  byStatus: statement<ListParams, ListedRow>(
    'messages.list_status',
    listText({ status: "status = :status and status not in ('sent', 'delivered')" }, inRange),
  ),
  byTag: statement<ListParams, ListedRow>('messages.list_tag', listText({ tag: hasTag }, inRangeOfFew)),
  byRecipient: statement<ListParams, ListedRow>(
    'messages.list_recipient',
    listText({ recipient: hasRecipient }, inRangeOfFew),
  ),
}
