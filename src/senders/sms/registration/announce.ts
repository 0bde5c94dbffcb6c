/** Appends the events and the audit entries of senders, in the transaction of the change. */
import type { Action } from '../../audit/actions.ts'
import type { Actor, Audit } from '../../audit/append.ts'
import type { Tx } from '../../db/pool.ts'
import type { AppendEvents } from '../../events/append-events.ts'
import type { EventName } from '../../events/names.ts'
import type { Subject } from './subject.ts'

export type Announcement = 'verified' | 'unverified' | 'removed' | 'released'

export interface Announce {
  /** A change that endpoints subscribe to. */
  change(tx: Tx, actor: Actor, what: Announcement, ...subjects: Subject[]): Promise<void>
  /** A change that only the audit log records. */
  record(tx: Tx, actor: Actor, action: Action, subject: Subject, metadata?: Record<string, unknown>): Promise<void>
}

type Needs = { audit: Audit; appendEvents: AppendEvents }

export const makeAnnounce = ({ audit, appendEvents }: Needs): Announce => {
  const entryOf = (actor: Actor, action: Action, subject: Subject, metadata: Record<string, unknown> = {}) => ({
    orgId: subject.orgId,
    actor,
    action,
    resourceType: subject.type,
    resourceId: subject.id,
    metadata: { ...subject.about, ...metadata },
  })
  return {
    change: async (tx, actor, what, ...subjects) => {
      const events = subjects.map((subject) => ({
        orgId: subject.orgId,
        tenantId: subject.tenantId,
        environment: null,
        event: `${subject.type}.${what}` as EventName,
        data: {
          id: subject.id,
          status: what,
          ...subject.about,
          provider_status: subject.providerStatus,
          reason: subject.reason,
        },
      }))
      await appendEvents(tx, ...events)
      const entries = subjects.map((subject) => {
        const { providerStatus: provider_status, reason } = subject
        return entryOf(actor, `${subject.type}.${what}` as Action, subject, { provider_status, reason })
      })
      await audit(tx, ...entries)
    },
    record: (tx, actor, action, subject, metadata) => audit(tx, entryOf(actor, action, subject, metadata)),
  }
}
