/** Pages of an org's entries, newest first. */
import { statement } from '../../../platform/db/statement.ts'
import type { Keyset } from '../../../platform/ground/cursor.ts'
import { type EntryRow, entryColumns } from './entry-rows.ts'

/** Without signature and seal, which no list shows. */
export type ListedEntry = Omit<EntryRow, 'signature' | 'seal'>

const listed = `e.org_id, e.id, e.actor_user_id, e.action, e.resource_type, e.resource_id, e.metadata, e.ip_address,
  e.user_agent, e.created_at`

/** What a page starts after, and the range of time. Both bounds are inclusive. */
export type EntryRange = Keyset & { orgId: string; createdAfter: Date | null; createdBefore: Date | null }

export type EntryFilter = {
  action: string | null
  /** The beginning of the actions, such as `tenant.`. */
  group: string | null
  actorUserId: string | null
  resourceType: string | null
}

type ListParams = EntryRange & EntryFilter

// Without `or`, so that an index serves the position and the range in every plan. The upper bound repeats the position,
// because the scan starts at the bound of the first column. Every id is before `zzzz`, so that an entry whose time
// someone set to infinity is listed too.
const inRange = `(e.created_at, e.id) < (coalesce(:afterAt::timestamptz, 'infinity'), coalesce(:afterId, 'zzzz'))
     and e.created_at >= coalesce(:createdAfter::timestamptz, '-infinity')
     and e.created_at <= least(coalesce(:createdBefore::timestamptz, 'infinity'), coalesce(:afterAt::timestamptz, 'infinity'))`

const matches = `(:action::text is null or e.action = :action)
     and (:group::text is null or starts_with(e.action, :group))
     and (:actorUserId::text is null or e.actor_user_id = :actorUserId)
     and (:resourceType::text is null or e.resource_type = :resourceType)`

const newestFirst = 'order by e.created_at desc, e.id desc limit :limit'

export const listEntries = statement<ListParams, ListedEntry>(
  'audit.list',
  `select ${listed} from audit_entries e
   where e.org_id = :orgId and ${inRange} and ${matches}
   ${newestFirst}`,
)

export const findListedEntry = statement<{ orgId: string; id: string }, ListedEntry>(
  'audit.find_listed',
  `select ${listed} from audit_entries e where e.org_id = :orgId and e.id = :id`,
)

export const listEntriesOfActor = statement<ListParams, ListedEntry>(
  'audit.list_of_actor',
  `select ${listed} from audit_entries e
   where e.org_id = :orgId and e.actor_user_id = :actorUserId and ${inRange} and ${matches}
   ${newestFirst}`,
)

/** Any action but `message.sent`. */
export const listEntriesOfAction = statement<ListParams, ListedEntry>(
  'audit.list_of_action',
  `select ${listed} from audit_entries e
   where e.org_id = :orgId and e.action = :action and e.action <> 'message.sent' and ${inRange} and ${matches}
   ${newestFirst}`,
)

/**
 * Any group but `message.`. Finds the actions of the group in the index, one look-up each, and reads a page of every
 * one of them.
 */
export const listEntriesOfGroup = statement<ListParams, ListedEntry>(
  'audit.list_of_group',
  `with recursive found as (
     (select min(a.action) as action from audit_entries a
      where a.org_id = :orgId and a.action >= :group and a.action <> 'message.sent')
     union all
     select (select min(a.action) from audit_entries a
             where a.org_id = :orgId and a.action > f.action and a.action <> 'message.sent')
     from found f where starts_with(f.action, :group)
   )
   select ${listed}
   from found f
   cross join lateral (
     select ${listed} from audit_entries e
     where e.org_id = :orgId and e.action = f.action and e.action <> 'message.sent' and ${inRange} and ${matches}
     ${newestFirst}
   ) e
   where starts_with(f.action, :group)
   ${newestFirst}`,
)

/** Any type but `message`. */
export const listEntriesOfType = statement<ListParams, ListedEntry>(
  'audit.list_of_type',
  `select ${listed} from audit_entries e
   where e.org_id = :orgId and e.resource_type = :resourceType and e.action <> 'message.sent'
     and ${inRange} and ${matches}
   ${newestFirst}`,
)

/**
 * Entries about one resource, except invitations: their resource is an address, which is withheld. The entry of a send
 * is in no index of resources. It is written during the request, so it is near the time in the id of the message.
 */
export const listEntriesOfResource = statement<
  ListParams & { resourceId: string; sentFrom: Date | null; sentUntil: Date | null },
  ListedEntry
>(
  'audit.list_of_resource',
  `select ${listed} from (
     (select ${listed} from audit_entries e
      where e.org_id = :orgId and e.resource_id = :resourceId and e.action <> 'message.sent'
        and e.action <> 'member.invited' and e.resource_type is distinct from 'invitation'
        and ${inRange} and ${matches}
      ${newestFirst})
     union all
     (select ${listed} from audit_entries e
      where e.org_id = :orgId and e.created_at between :sentFrom::timestamptz and :sentUntil::timestamptz
        and e.action = 'message.sent' and e.resource_id = :resourceId and ${inRange} and ${matches}
      ${newestFirst})
   ) e
   ${newestFirst}`,
)

/** The entries with their signatures, for verification. */
export const listSignedEntries = statement<EntryRange, EntryRow>(
  'audit.list_signed',
  `select ${entryColumns.of('e')} from audit_entries e
   where e.org_id = :orgId and ${inRange}
   ${newestFirst}`,
)
