/** What every channel's message has in common before it is one. */
import type { Channel } from '../ground/channel.ts'
import type { MaybePromise } from '../ground/maybe-promise.ts'
import type { Scope } from '../ground/scope.ts'

/** Who sends. The scheduler sends for whoever asked, without the restrictions of a key that may be gone. */
export type SentBy = Scope & {
  projectId: string
  keyId: string | null
  allowedDomainIds: readonly string[] | null
  /** Set when the key itself is bound to a project, which then limits its senders. */
  boundProjectId: string | null
}

/** How the pipeline was entered: rules differ in what they ask of each. */
export type SendKind = 'single' | 'batch' | 'fire'

export type Draft = {
  id: string
  createdAt: Date
  by: SentBy
  channel: Channel
  tags: string[]
  metadata: Record<string, string>
  scheduledAt: Date | null
  jobId: string | null
}

/** A named rule: passes, narrows the draft, or throws the refusal. */
export type Gate<D extends Draft> = {
  name: string
  at: readonly SendKind[]
  check: (draft: D, entrance: SendKind) => MaybePromise<void>
}

export type Gates<D extends Draft> = Record<SendKind, readonly Gate<D>[]>

export const bySendKind = <D extends Draft>(gates: readonly Gate<D>[]): Gates<D> => {
  const at = (entrance: SendKind) => gates.filter((gate) => gate.at.includes(entrance))
  return { single: at('single'), batch: at('batch'), fire: at('fire') }
}

/** In order, each waiting for the one before: a refusal leaves no trace of later rules. */
export const passGates = async <D extends Draft>(gates: Gates<D>, draft: D, entrance: SendKind): Promise<void> => {
  for (const gate of gates[entrance]) {
    const checking = gate.check(draft, entrance)
    if (checking) await checking
  }
}
