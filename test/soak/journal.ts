/** What clients saw: acknowledged messages, latencies, error responses, and the times at which faults were injected. */

export type Way = 'single' | 'batch' | 'scheduled' | 'template' | 'queued' | 'sms' | 'code'

export type Call = {
  operation: string
  from: number
  ms: number /** Whether a fault or a restart overlapped it. */
  disturbed: boolean
}

export type Disturbance = { what: string; from: number; until: number }

export type Journal = {
  /** Seconds since the start of the load. */
  now(): number
  acknowledged: Map<string, Way>
  /** Calls of the present point. The sampler takes them out. */
  calls: Call[]
  /** The number of responses by kind, such as `single 500 INTERNAL_ERROR`, in and out of disturbances. */
  errors: { kind: string; at: number; disturbed: boolean }[]
  disturbances: Disturbance[]
  requests: number
  faults: string[]
  /** Registers a disturbance. The returned function ends it, and its effects are excused for `settleSeconds` more. */
  disturb(what: string, settleSeconds: number): () => void
  isDisturbed(from: number, until: number): boolean
  /** Notes the result of one call. `kind` is undefined if it succeeded. */
  note(operation: string, from: number, kind: string | undefined): void
}

export const makeJournal = (): Journal => {
  const start = performance.now()
  const now = (): number => (performance.now() - start) / 1_000
  const journal: Journal = {
    now,
    acknowledged: new Map(),
    calls: [],
    errors: [],
    disturbances: [],
    requests: 0,
    faults: [],
    disturb: (what, settleSeconds) => {
      const disturbance: Disturbance = { what, from: now(), until: Number.POSITIVE_INFINITY }
      journal.disturbances.push(disturbance)
      return () => {
        disturbance.until = now() + settleSeconds
      }
    },
    isDisturbed: (from, until) =>
      journal.disturbances.some((disturbance) => from <= disturbance.until && until >= disturbance.from),
    note: (operation, from, kind) => {
      const until = now()
      const disturbed = journal.isDisturbed(from, until)
      journal.requests++
      if (kind === undefined) journal.calls.push({ operation, from, ms: (until - from) * 1_000, disturbed })
      else journal.errors.push({ kind: `${operation} ${kind}`, at: from, disturbed })
      const isServerError = kind !== undefined && /^(5\d\d|no response)/.test(kind)
      if (isServerError && !disturbed)
        journal.faults.push(`${operation} got ${kind} at ${Math.round(from)} s without a fault`)
    },
  }
  return journal
}
