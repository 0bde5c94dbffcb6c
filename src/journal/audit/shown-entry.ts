/** An audit entry as it leaves the service, in a list or an export. */
import type { ListedEntry } from './store/list-rows.ts'

/** Entries of earlier versions can contain the token of an invitation. */
export const withheldNames = new Set(['token', 'invite_token', 'invite_url'])

/** The service writes nothing that is nested this deeply. */
const maxDepth = 64

const withoutTokens = (value: unknown, depth = 0): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (depth === maxDepth) return null
  if (Array.isArray(value)) return value.map((item) => withoutTokens(item, depth + 1))
  const kept = Object.entries(value).filter(([name]) => !withheldNames.has(name))
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutTokens(inner, depth + 1)]))
}

/** The resource of an invitation is the invited address, which is withheld. */
export const shownResourceId = (row: Pick<ListedEntry, 'action' | 'resource_type' | 'resource_id'>): string | null =>
  row.action === 'member.invited' || row.resource_type === 'invitation' ? null : row.resource_id

/** PostgreSQL also has times that JavaScript has not, such as `infinity`. The service never writes them. */
export const shownTime = (at: Date): string => (Number.isFinite(Number(at)) ? at.toISOString() : String(at))

export const shownEntry = (row: ListedEntry) => ({
  id: row.id,
  orgId: row.org_id,
  actorUserId: row.actor_user_id,
  action: row.action,
  resourceType: row.resource_type,
  resourceId: shownResourceId(row),
  metadata: withoutTokens(row.metadata) as ListedEntry['metadata'],
  ipAddress: row.ip_address,
  userAgent: row.user_agent,
  createdAt: shownTime(row.created_at),
})
