/** How often each property runs. `HOSTILE_RUNS=20` runs it twenty times as often, for a long local run. */
const times = Number(process.env.HOSTILE_RUNS ?? 1)

export const runs = (usual: number): { numRuns: number } => ({
  numRuns: Math.max(1, Math.ceil(usual * times)),
})

/** A timeout for that many runs, generous enough for a busy machine. */
export const timeoutFor = (usualMs: number): number => usualMs * Math.max(1, times)
