/** Reads an org's entries by filter. Every filter has an index that serves it, however many entries the org has. */
import type { Db } from '../../platform/db/pool.ts'
import { isId, timeOfId } from '../../platform/ground/ids.ts'
import {
  type EntryFilter,
  type EntryRange,
  findListedEntry,
  type ListedEntry,
  listEntries,
  listEntriesOfAction,
  listEntriesOfActor,
  listEntriesOfGroup,
  listEntriesOfResource,
  listEntriesOfType,
} from './store/list-rows.ts'

/** Longer than any request, so the entry of a send is at most this much later than the id of its message. */
const longestRequestMs = 330_000

const sentWindow = (resourceId: string): { sentFrom: Date | null; sentUntil: Date | null } => {
  if (!isId('message', resourceId)) return { sentFrom: null, sentUntil: null }
  const at = timeOfId(resourceId)
  return { sentFrom: new Date(at), sentUntil: new Date(at + longestRequestMs) }
}

/** Filters that match sends use the index over all entries, because sends are most of them. */
export const makeListAudit =
  ({ db }: { db: Db }) =>
  (
    range: EntryRange,
    { resourceId, ...others }: EntryFilter & { resourceId: string | null },
  ): Promise<ListedEntry[]> => {
    const { actorUserId, action, group, resourceType } = others
    const params = { ...range, ...others }
    if (resourceId !== null) {
      return db.rows(listEntriesOfResource, { ...params, resourceId, ...sentWindow(resourceId) })
    }
    if (actorUserId !== null) return db.rows(listEntriesOfActor, params)
    if (action !== null && action !== 'message.sent') return db.rows(listEntriesOfAction, params)
    if (group !== null && group !== 'message.') return db.rows(listEntriesOfGroup, params)
    if (resourceType !== null && resourceType !== 'message') return db.rows(listEntriesOfType, params)
    return db.rows(listEntries, params)
  }

export const makeFindAuditEntry =
  ({ db }: { db: Db }) =>
  (orgId: string, id: string): Promise<ListedEntry | undefined> =>
    db.row(findListedEntry, { orgId, id })

export type ListAudit = ReturnType<typeof makeListAudit>
export type FindAuditEntry = ReturnType<typeof makeFindAuditEntry>
