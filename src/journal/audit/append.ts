import type { Given } from '../../platform/db/columns.ts'
import type { StoreNeeds, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Action } from './actions.ts'
import { logFailedWrite } from './log-failed-write.ts'
import { makeSealer } from './seal-entry.ts'
import { canonicalMetadata, makeSign } from './sign-entry.ts'
import { type EntryRow, insertEntries } from './store/entry-rows.ts'

/** Entries of operator commands have no signature, but a seal, so that nobody without the secret can forge one. */
export const operatorTool = { kind: 'operator', ip: null, userAgent: 'operator-tool' } as const

/**
 * Who performed an action: a dashboard user, an API key, somebody who is not signed in, the service itself, or an
 * operator command that suspends an org.
 */
export type Actor =
  /** `clientId` is the OAuth client that acts for the user. */
  | { kind: 'user'; userId: string; clientId?: string; ip: string | null; userAgent: string }
  | { kind: 'key'; keyId: string; ip: string | null; userAgent: string }
  | { kind: 'nobody'; ip: string | null; userAgent: string }
  | { kind: 'system' }
  | typeof operatorTool

/** A person who uses the dashboard. */
export type UserActor = Extract<Actor, { kind: 'user' }>

export type AuditEntry = {
  orgId: string
  actor: Actor
  action: Action
  resourceType: string | null
  resourceId: string | null
  metadata?: Record<string, unknown>
}

/**
 * Writes audit entries in the transaction of the action, under a savepoint. They commit together with the action. If
 * they cannot be written, the action still succeeds and the actions and ids of the entries are logged instead.
 */
export interface Audit {
  (tx: Tx, ...entries: AuditEntry[]): Promise<void>
  /** Returns the row for a statement that writes action and entry together. See appendEntries in the store. */
  rowOf(entry: AuditEntry): EntryFields
  /** Must be called with the rows of such a statement after its commit. */
  committed(rows: readonly EntryFields[]): void
}

/** What an action needs that changes rows and records it. */
export type AuditedNeeds = StoreNeeds & { audit: Audit }

export type EntryFields = Omit<Given<EntryRow, keyof EntryRow>, 'ipAddress' | 'metadata'> & {
  ip: string | null
  /** JSON text, so that exactly the signed text is stored. */
  metadata: string | null
}

/**
 * Entries by a key or by the service have no user id: the user who created a key is not necessarily the one using it.
 * The metadata identifies the actor instead.
 */
const withActor = (actor: Actor, metadata: AuditEntry['metadata']): Record<string, unknown> | null => {
  if (actor.kind === 'key') {
    // The name is set first, which keeps the names sorted. The value is set last, so that metadata cannot override it.
    return Object.assign({ api_key_id: '' }, metadata, { api_key_id: actor.keyId, via: 'api_key' })
  }
  if (actor.kind === 'system') return { ...metadata, via: 'system' }
  if (actor.kind === 'user' && actor.clientId !== undefined) {
    return { ...metadata, client_id: actor.clientId, via: 'oauth' }
  }
  return metadata && Object.keys(metadata).length > 0 ? metadata : null
}

type Needs = {
  clock: Clock
  log: Log
  secret: string | undefined
  /** Receives the entries that were committed. */
  committed?: Audit['committed']
}

export const makeAudit = ({ clock, log, secret, committed = () => undefined }: Needs): Audit => {
  const sign = secret === undefined ? undefined : makeSign(secret)
  const sealer = secret === undefined ? undefined : makeSealer(secret)

  const rowOf = ({ orgId, actor, action, resourceType, resourceId, metadata }: AuditEntry): EntryFields => {
    const ms = clock.millis()
    const id = sealer ? sealer.newEntryId(ms) : newId('auditEntry', ms)
    const actorUserId = actor.kind === 'user' ? actor.userId : null
    const text = canonicalMetadata(withActor(actor, metadata))
    const row: EntryFields = {
      id,
      orgId,
      actorUserId,
      action,
      resourceType,
      resourceId,
      // The time of the id, which can be a little later than the clock: verification compares the two.
      createdAt: new Date(timeOfId(id)),
      metadata: text,
      ip: actor.kind === 'system' ? null : actor.ip,
      userAgent: actor.kind === 'system' ? '' : actor.userAgent.slice(0, 512),
      signature: null,
      seal: null,
    }
    const signed = actor.kind !== 'operator'
    if (sign && signed) row.signature = sign(row, text)
    if (sealer) row.seal = sealer.seal({ ...row, signed }, text)
    return row
  }

  const audit = async (tx: Tx, ...entries: AuditEntry[]): Promise<void> => {
    if (entries.length === 0) return
    let rows: EntryFields[] = []
    try {
      rows = entries.map(rowOf)
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
          seals: rows.map((row) => row.seal),
        }),
      )
      tx.afterCommit(() => committed(rows))
    } catch (error) {
      const failed = entries.map((entry, i) => ({ ...entry, id: rows[i]?.id }))
      logFailedWrite(log, error, failed)
    }
  }

  return Object.assign(audit, { rowOf, committed })
}
