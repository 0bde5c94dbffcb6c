import type { Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { Action } from './actions.ts'
import { canonicalMetadata, makeSign } from './sign-entry.ts'
import { insertEntries } from './store.ts'

/** Who did it: a person at the dashboard, a key, or the service itself. */
export type Actor =
  | { kind: 'user'; userId: string; ip: string | null; userAgent: string }
  | { kind: 'key'; keyId: string; ip: string | null; userAgent: string }
  | { kind: 'system' }

export type AuditEntry = {
  orgId: string
  actor: Actor
  action: Action
  resourceType: string | null
  resourceId: string | null
  metadata?: Record<string, unknown>
}

/**
 * Writes the entry in the transaction of the action, under a savepoint: it commits with the action or not at
 * all, and when it cannot be written the action goes on and the whole entry is in the log instead.
 */
export interface Audit {
  (tx: Tx, ...entries: AuditEntry[]): Promise<void>
  /** The row itself, for a statement that writes it with what it tells of; see appendEntries in the store. */
  rowOf(entry: AuditEntry): EntryFields
}

export type EntryFields = {
  id: string
  orgId: string
  actorUserId: string | null
  action: string
  resourceType: string | null
  resourceId: string | null
  /** Text, so that what is stored is what was signed. */
  metadata: string | null
  ip: string | null
  userAgent: string
  createdAt: Date
  signature: string | null
}

/** A key and the service are no person; who made the key once is not who used it now. */
const saidOf = (actor: Actor, metadata: AuditEntry['metadata']): Record<string, unknown> | null => {
  if (actor.kind === 'key') {
    // Its place comes first, in the order of names; its value last, so that nothing said of the action replaces it.
    return Object.assign({ api_key_id: '' }, metadata, { api_key_id: actor.keyId, via: 'api_key' })
  }
  if (actor.kind === 'system') return { ...metadata, via: 'system' }
  return metadata && Object.keys(metadata).length > 0 ? metadata : null
}

type Needs = { clock: Clock; log: Log; secret: string | undefined }

export const makeAudit = ({ clock, log, secret }: Needs): Audit => {
  const sign = secret === undefined ? undefined : makeSign(secret)

  const rowOf = ({ orgId, actor, action, resourceType, resourceId, metadata }: AuditEntry): EntryFields => {
    const createdAt = clock.now()
    const id = newId('auditEntry', createdAt.getTime())
    const actorUserId = actor.kind === 'user' ? actor.userId : null
    const text = canonicalMetadata(saidOf(actor, metadata))
    const row: EntryFields = {
      id,
      orgId,
      actorUserId,
      action,
      resourceType,
      resourceId,
      createdAt,
      metadata: text,
      ip: actor.kind === 'system' ? null : actor.ip,
      userAgent: actor.kind === 'system' ? '' : actor.userAgent.slice(0, 512),
      signature: null,
    }
    if (sign) row.signature = sign(row, text)
    return row
  }

  const audit = async (tx: Tx, ...entries: AuditEntry[]): Promise<void> => {
    if (entries.length === 0) return
    let known: readonly (AuditEntry | EntryFields)[] = entries
    try {
      const rows = entries.map(rowOf)
      known = rows
      await tx.savepoint(() =>
        tx.change(insertEntries, {
          orgIds: rows.map((row) => row.orgId),
          ids: rows.map((row) => row.id),
          actors: rows.map((row) => row.actorUserId),
          actions: rows.map((row) => row.action),
          resourceTypes: rows.map((row) => row.resourceType),
          resourceIds: rows.map((row) => row.resourceId),
          metadata: rows.map((row) => row.metadata),
          ips: rows.map((row) => row.ip),
          userAgents: rows.map((row) => row.userAgent),
          at: rows.map((row) => row.createdAt),
          signatures: rows.map((row) => row.signature),
        }),
      )
    } catch (error) {
      log.error({ err: error, audit_entries: known }, 'audit entries could not be written')
    }
  }

  return Object.assign(audit, { rowOf })
}
