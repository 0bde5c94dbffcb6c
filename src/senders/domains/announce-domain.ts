/** Appends the event of a change of a domain, and the audit entry with the same name. */
import type { Actor, Audit } from '../../journal/audit/append.ts'
import type { AppendEvents } from '../../journal/events/append-events.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { DomainRow } from './store/domain-rows.ts'

type Change = {
  what: 'verified' | 'unverified' | 'removed' | 'warmup_started'
  status: string
  /** What the event and the entry say besides the name of the domain. */
  data: Record<string, unknown>
  metadata: Record<string, unknown>
}

export type AnnounceDomain = (tx: Tx, row: DomainRow, actor: Actor, change: Change) => Promise<void>

type Needs = { audit: Audit; appendEvents: AppendEvents }

export const makeAnnounceDomain =
  ({ audit, appendEvents }: Needs): AnnounceDomain =>
  async (tx, row, actor, { what, status, data, metadata: more }) => {
    const { org_id: orgId, tenant_id: tenantId, id, name } = row
    const event = `domain.${what}` as const
    await appendEvents(tx, { orgId, tenantId, environment: null, event, data: { id, domain: name, status, ...data } })
    const metadata = { name, ...more }
    await audit(tx, { orgId, actor, action: event, resourceType: 'domain', resourceId: id, metadata })
  }
