/**
 * Erases a tenant in chunks. Each chunk commits its deletions and its counts together, so an interrupted erasure
 * continues where it stopped.
 */
import type { Actor, AuditedNeeds } from '../../journal/audit/append.ts'
import type { AppendEvents } from '../../journal/events/append-events.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import {
  beginErasure,
  type Erasure,
  findTenant,
  finishErasure,
  lockTenant,
  revokeKeysOf,
  saveErasureCounts,
  type TenantRow,
} from './store.ts'

/** Erases one kind of row. Each module that stores tenant data provides a step. */
export type ErasureStep = {
  /** The reported count that the erased rows add to. Without it, the rows are not counted. */
  counts?: keyof Erasure
  /** Erases up to `limit` rows and returns how many. Fewer than `limit` means that none are left. */
  run: (tx: Tx, rows: { orgId: string; tenantId: string; limit: number }) => Promise<number>
}

export type EraseTenant = (scope: Scope, actor: Actor, id: string) => Promise<TenantRow>

const chunk = 500
const zeroCounts: Erasure = {
  messages_redacted: 0,
  message_events_deleted: 0,
  contacts_deleted: 0,
  inbound_deleted: 0,
}

type Needs = AuditedNeeds & { appendEvents: AppendEvents; steps: ErasureStep[]; forget: (orgId: string) => void }

export const makeEraseTenant = ({ db, clock, audit, appendEvents, steps, forget }: Needs): EraseTenant => {
  const begin = async (orgId: string, id: string): Promise<TenantRow> => {
    const begun = await db.row(beginErasure, { orgId, id, counts: JSON.stringify(zeroCounts), at: clock.now() })
    if (begun) return begun
    const row = await orNotFound(db.row(findTenant, { orgId, id }))
    if (row.status === 'active') throw new Failure('TENANT_ACTIVE')
    return row
  }

  const runChunk = (orgId: string, id: string, step: ErasureStep): Promise<boolean> =>
    db.tx(async (tx) => {
      // Locked for the whole chunk, so that two concurrent runs count each row once.
      const row = await tx.row(lockTenant, { orgId, id })
      if (!row?.erasure || row.status === 'erased') return false
      const erased = await step.run(tx, { orgId, tenantId: id, limit: chunk })
      if (step.counts && erased > 0) {
        const counts = { ...row.erasure, [step.counts]: row.erasure[step.counts] + erased }
        await tx.change(saveErasureCounts, { orgId, id, counts: JSON.stringify(counts) })
      }
      return erased === chunk
    })

  const finish = (orgId: string, actor: Actor, before: TenantRow): Promise<TenantRow | undefined> =>
    db.tx(async (tx) => {
      const at = clock.now()
      const row = await tx.row(finishErasure, { orgId, id: before.id, at })
      if (!row) return undefined
      await tx.change(revokeKeysOf, { orgId, tenantId: row.id, at })
      const counts = row.erasure ?? zeroCounts
      const entry = { orgId, actor, action: 'tenant.erased', resourceType: 'tenant', resourceId: row.id } as const
      await audit(tx, { ...entry, metadata: { ...counts } })
      await appendEvents(tx, {
        orgId,
        tenantId: row.id,
        environment: null,
        event: 'tenant.erased',
        data: { tenant_id: row.id, external_ref: before.external_ref, ...counts },
      })
      return row
    })

  return async ({ orgId }, actor, id) => {
    const row = await begin(orgId, id)
    if (row.status === 'erased') return row
    for (const step of steps) while (await runChunk(orgId, id, step));
    const done = await finish(orgId, actor, row)
    forget(orgId)
    return done ?? ((await db.row(findTenant, { orgId, id })) as TenantRow)
  }
}
