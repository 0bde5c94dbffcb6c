/** The number of turns that the event loop makes during some work: one or two if the work blocks it. */
export const turnsDuring = async (work: () => Promise<unknown>): Promise<number> => {
  let turns = 0
  let isRunning = true
  const turn = (): void => {
    turns++
    if (isRunning) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isRunning = false
  return turns
}
