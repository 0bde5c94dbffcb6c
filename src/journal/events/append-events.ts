import type { Runner, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import { currentTraceparent } from '../../platform/ground/tracing.ts'
import type { AnnounceEvents } from './announce-events.ts'
import type { EventName } from './names.ts'
import { insertEvents } from './store.ts'

export type NewEvent = {
  orgId: string
  /** The tenant that the event belongs to. Null for events of the whole org. */
  tenantId: string | null
  /** Null on events that no send caused. */
  environment: Environment | null
  event: EventName
  data: Record<string, unknown>
}

/** Writes events in the transaction of the change that caused them, so that both commit or neither does. */
export type AppendEvents = (tx: Runner | Tx, ...events: NewEvent[]) => Promise<void>

export const makeAppendEvents =
  ({ clock, announce }: { clock: Clock; announce: AnnounceEvents }): AppendEvents =>
  async (tx, ...events) => {
    if (events.length === 0) return
    const at = clock.now()
    await tx.change(insertEvents, {
      orgIds: events.map((event) => event.orgId),
      ids: events.map(() => newId('event', at.getTime())),
      tenantIds: events.map((event) => event.tenantId),
      environments: events.map((event) => event.environment),
      events: events.map((event) => event.event),
      data: events.map((event) => JSON.stringify(event.data)),
      at: events.map(() => at),
      traceparent: currentTraceparent() ?? null,
    })
    if ('afterCommit' in tx) tx.afterCommit(() => announce(events.length))
    else announce(events.length)
  }
