/** Divides long work into turns of the event loop, so that other requests are served in between. */

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** How long one piece of work may keep the event loop. */
const turnMs = 20

/** Returns a function that ends the turn if it has lasted too long. Call it between the steps of long work. */
export const makeTurns = (): (() => Promise<void>) => {
  let startedAt = performance.now()
  return async () => {
    if (performance.now() - startedAt < turnMs) return
    await nextTurn()
    startedAt = performance.now()
  }
}
