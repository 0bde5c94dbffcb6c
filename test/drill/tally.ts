/** Counts what became of the sends of a drill. */

export type Acknowledged = { reference: string; id: string; at: number; scheduled: boolean }
/** A send that was answered with an error. */
export type Refused = { reference: string; status: number; code: string; sentAt: number; at: number }
/** `id` is the id of the message. */
export type HandedOver = { reference: string; id: string; at: number }

/** The time from the start of a fault until the next one starts. */
export type Phase = { name: string; from: number; to: number }

export type Outcome = {
  acknowledged: readonly Acknowledged[]
  handedOver: readonly HandedOver[]
  /** The ids of messages that the database has as sent. */
  storedAsSent: ReadonlySet<string>
  /** Those whose history says that an earlier attempt was interrupted. */
  marked: ReadonlySet<string>
}

export type PhaseTally = {
  name: string
  acknowledged: number
  /** References that were acknowledged, but not handed over or not stored. */
  lost: string[]
  /** References that were handed over again under the same id, after an attempt that was interrupted. */
  sentTwice: string[]
  /** References that were handed over again under another id, or although the message had been recorded. */
  unexplained: string[]
  secondsWithout: number
}

/** An outage of this length is a failure. */
export const outageLimitSeconds = 30

/** The longest time within a phase in which nothing was acknowledged, in seconds. */
export const longestGap = (acknowledgedAt: readonly number[], { from, to }: Phase): number => {
  const inside = acknowledgedAt.filter((at) => at > from && at < to).sort((a, b) => a - b)
  let longest = 0
  let last = from
  for (const at of [...inside, to]) {
    longest = Math.max(longest, at - last)
    last = at
  }
  return longest / 1_000
}

/** The handovers of each reference, in order. */
const handoversOf = (handedOver: readonly HandedOver[]): Map<string, HandedOver[]> =>
  Map.groupBy(
    [...handedOver].sort((a, b) => a.at - b.at),
    ({ reference }) => reference,
  )

export const tallyPhases = (phases: readonly Phase[], outcome: Outcome): PhaseTally[] => {
  const handovers = handoversOf(outcome.handedOver)
  const acknowledgedAt = outcome.acknowledged.map(({ at }) => at)
  const isWithin = ({ from, to }: Phase, at: number): boolean => at >= from && at < to
  const isExplained = ([, all]: [string, HandedOver[]]): boolean =>
    all.every(({ id }) => id === all[0]?.id && outcome.marked.has(id))
  return phases.map((phase) => {
    const acknowledged = outcome.acknowledged.filter(({ at }) => isWithin(phase, at))
    const twice = [...handovers].filter(([, all]) => all.length > 1 && isWithin(phase, all[0]?.at as number))
    return {
      name: phase.name,
      acknowledged: acknowledged.length,
      lost: acknowledged
        .filter(({ reference, id }) => !handovers.has(reference) || !outcome.storedAsSent.has(id))
        .map(({ reference }) => reference),
      sentTwice: twice.filter(isExplained).map(([reference]) => reference),
      unexplained: twice.filter((one) => !isExplained(one)).map(([reference]) => reference),
      secondsWithout: longestGap(acknowledgedAt, phase),
    }
  })
}

/** Why the drill failed. Empty if it passed. */
export const failuresOf = (tallies: readonly PhaseTally[]): string[] =>
  tallies.flatMap(({ name, lost, unexplained, secondsWithout }) => [
    ...lost.map((reference) => `${name}: ${reference} was acknowledged and is lost`),
    ...unexplained.map(
      (reference) => `${name}: ${reference} was sent as two messages, or again although it was recorded`,
    ),
    ...(secondsWithout >= outageLimitSeconds
      ? [`${name}: no send was accepted for ${secondsWithout.toFixed(1)} s; the limit is ${outageLimitSeconds} s`]
      : []),
  ])

/** How many sends got each status and code. */
export const refusalsByCode = (refused: readonly Refused[]): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { status, code } of refused) {
    const name = `${status} ${code}`.trim()
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

/** Once no send was accepted for this long, no connection is left on which a change could be in progress. */
const outageBeganMs = 5_000

/**
 * A 503 promises that nothing was sent. A 500 says that this is not known; but a request that began in the middle of an
 * outage, and was answered before it ended, had no effect and must be a 503.
 */
export const wrongAnswers = (
  refused: readonly Refused[],
  { acknowledged, handedOver }: Pick<Outcome, 'acknowledged' | 'handedOver'>,
): string[] => {
  const handovers = handoversOf(handedOver)
  /** A later repeat may have sent the message. */
  const sentMeanwhile = ({ reference, sentAt, at }: Refused): boolean =>
    (handovers.get(reference) ?? []).some((one) => one.at >= sentAt && one.at <= at)
  const accepted = acknowledged.map(({ at }) => at)
  const isWithinOutage = ({ sentAt, at }: Refused): boolean =>
    !accepted.some((time) => time > sentAt - outageBeganMs && time < at) && accepted.some((time) => time < sentAt)
  return refused.flatMap((one) => {
    if (one.status === 503 && sentMeanwhile(one)) return [`${one.reference} was sent, but its request was 503`]
    if (one.status === 500 && !sentMeanwhile(one) && isWithinOutage(one))
      return [`${one.reference} was not sent in an outage, but its request was 500`]
    return []
  })
}

const totalOf = (tallies: readonly PhaseTally[]): PhaseTally => ({
  name: 'total',
  acknowledged: tallies.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
  lost: tallies.flatMap(({ lost }) => lost),
  sentTwice: tallies.flatMap(({ sentTwice }) => sentTwice),
  unexplained: tallies.flatMap(({ unexplained }) => unexplained),
  secondsWithout: tallies.reduce((longest, { secondsWithout }) => Math.max(longest, secondsWithout), 0),
})

/** A line for each phase and one for all. The total has the longest of the outages. */
export const reportLines = (tallies: readonly PhaseTally[]): string[] => {
  const head = ['fault', 'acknowledged', 'lost', 'sent twice', 'seconds without an accepted send']
  const rows = [...tallies, totalOf(tallies)].map(
    ({ name, acknowledged, lost, sentTwice, unexplained, secondsWithout }) => [
      name,
      String(acknowledged),
      String(lost.length),
      String(sentTwice.length + unexplained.length),
      secondsWithout.toFixed(1),
    ],
  )
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] as string).length)))
  return [head, ...rows].map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number))).join('  '),
  )
}
