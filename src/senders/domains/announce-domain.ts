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

export const makeAnnounceDomain =
  ({ audit, appendEvents }: { audit: Audit; appendEvents: AppendEvents }) =>
  async (tx: Tx, row: DomainRow, actor: Actor, { what, status, data, metadata: more }: Change) => {
    const { org_id: orgId, tenant_id: tenantId, id, name } = row
    const event = `domain.${what}` as const
    await appendEvents(tx, { orgId, tenantId, environment: null, event, data: { id, domain: name, status, ...data } })
    const metadata = { name, ...more }
    await audit(tx, { orgId, actor, action: event, resourceType: 'domain', resourceId: id, metadata })
  }
