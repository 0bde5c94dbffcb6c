/** How often each property runs: `HOSTILE_RUNS=20` makes it twenty times as often, for a long local run. */
const times = Number(process.env.HOSTILE_RUNS ?? 1)

export const runs = (usual: number): { numRuns: number } => ({
  numRuns: Math.max(1, Math.ceil(usual * times)),
})

/** Time for so many runs, generous enough for a machine that does something else too. */
export const patience = (usualMs: number): number => usualMs * Math.max(1, times)
