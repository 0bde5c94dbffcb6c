/** The parts of a message that all channels share before it is stored, and the gates it has to pass. */
import type { Channel } from '../../platform/ground/channel.ts'
import { andThen, type MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import type { MessageRow } from './store/message-row.ts'

/**
 * The sender of a message. For a scheduled message the scheduler fills this in without the restrictions of the API
 * key, which may no longer exist.
 */
export type SentBy = Scope & {
  projectId: string
  keyId: string | null
  allowedDomainIds: readonly string[] | null
  /** Set when the key itself is bound to a project, which then limits its senders. */
  boundProjectId: string | null
}

/** The caller: an API key with its restrictions, or the service on behalf of a person. */
export type DraftCaller = Scope & { keyId: string | null; allowedDomainIds: readonly string[] | null }

/** Turns the caller of a request into the sender of its messages. */
export const makeSentBy =
  (defaultProject: (orgId: string) => MaybePromise<string>) =>
  (caller: DraftCaller): MaybePromise<SentBy> =>
    andThen(caller.projectId ?? defaultProject(caller.orgId), (projectId) => ({
      orgId: caller.orgId,
      tenantId: caller.tenantId,
      environment: caller.environment,
      projectId,
      keyId: caller.keyId,
      allowedDomainIds: caller.allowedDomainIds,
      boundProjectId: caller.projectId,
    }))

export type SentByOf = ReturnType<typeof makeSentBy>

export const sentByOf = (row: MessageRow): SentBy => ({
  orgId: row.org_id,
  tenantId: row.tenant_id,
  environment: row.environment,
  projectId: row.project_id,
  keyId: row.key_id,
  allowedDomainIds: null,
  boundProjectId: null,
})

/**
 * How the message entered the pipeline. Each gate lists the kinds it applies to. A one-time code is sent like a message
 * but has no message row.
 */
export type SendKind = 'single' | 'batch' | 'fire' | 'code'

export type Draft = {
  id: string
  createdAt: Date
  by: SentBy
  channel: Channel
  tags: string[]
  metadata: Record<string, string>
  scheduledAt: Date | null
  jobId: string | null
  /** The content has a one-time code, which must not be stored anywhere. */
  hasCode?: boolean | undefined
  /** An earlier attempt was interrupted. It may have handed the message to the provider. */
  mayRepeat?: boolean | undefined
}

/** A named rule. It accepts the draft, changes it, or throws a Failure. */
export type Gate<D extends Draft> = {
  name: string
  at: readonly SendKind[]
  check: (draft: D, kind: SendKind) => MaybePromise<void>
  /** Whether the gate concerns this draft. Absent if it concerns every draft. */
  applies?: (draft: D) => boolean
}

export type Gates<D extends Draft> = Record<SendKind, readonly Gate<D>[]>

export const bySendKind = <D extends Draft>(gates: readonly Gate<D>[]): Gates<D> => {
  const at = (kind: SendKind) => gates.filter((gate) => gate.at.includes(kind))
  return { single: at('single'), batch: at('batch'), fire: at('fire'), code: at('code') }
}

export const appliesTo = <D extends Draft>(gate: Gate<D>, draft: D): boolean => gate.applies?.(draft) ?? true

/** Runs the gates one after another. The first failure stops the run, so later gates have no effect. */
export const passGates = async <D extends Draft>(gates: readonly Gate<D>[], draft: D, kind: SendKind) => {
  for (const gate of gates) {
    if (!appliesTo(gate, draft)) continue
    const checking = gate.check(draft, kind)
    if (checking) await checking
  }
}
