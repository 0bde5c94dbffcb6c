import type { Actor, Audit } from '../../journal/audit/append.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { timeOfId } from '../../platform/ground/ids.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { entryOf } from './rows.ts'
import { cancelMessage } from './store/end-messages.ts'
import { findMessage } from './store/list-messages.ts'

/** When a cancellation and the scheduler compete for a message, one wins: both require it to be still scheduled. */
export const makeCancelMessage =
  ({ db, clock, audit }: { db: Db; clock: Clock; audit: Audit }) =>
  async (scope: Scope, actor: Actor, channel: Channel, id: string): Promise<{ id: string; canceled_at: Date }> => {
    const { orgId, tenantId, environment, projectId } = scope
    const message = { orgId, environment, projectId, channel, id, createdAt: new Date(timeOfId(id)) }
    const canceled = await db.tx(async (tx) => {
      const at = clock.now()
      const entry = JSON.stringify([entryOf('canceled', at)])
      const row = await tx.row(cancelMessage, { ...message, tenantId, at, entry })
      if (!row) return undefined
      await audit(tx, {
        orgId,
        actor,
        action: 'message.canceled',
        resourceType: 'message',
        resourceId: id,
        metadata: { channel, environment },
      })
      return row
    })
    if (canceled) return canceled
    const row = await db.row(findMessage, { ...message, tenantId: null })
    if (!row) throw new Failure('NOT_FOUND')
    const otherTenant = tenantId !== null && row.tenant_id !== tenantId
    throw new Failure(otherTenant ? 'TENANT_FORBIDDEN' : 'NOT_SCHEDULED')
  }

export type CancelMessage = ReturnType<typeof makeCancelMessage>
