/** Why a process of the service stops. */
type StopReason = 'SIGINT' | 'SIGTERM' | 'launcher exited' | 'database lost'

/** If stopping takes longer than this, something hangs and the process exits anyway. */
export const stopTimeoutMs = 60_000

/** Resolves with the first of these reasons to stop. Other signals are ignored. */
export const untilStopped = (reasons: readonly StopReason[], databaseLost: Promise<void>): Promise<StopReason> =>
  new Promise((resolve) => {
    const stop = (why: StopReason): void => {
      if (reasons.includes(why)) resolve(why)
    }
    process.on('SIGINT', () => stop('SIGINT'))
    process.on('SIGTERM', () => stop('SIGTERM'))
    // The launcher has the other end of this channel. If it is killed, nothing else would stop this process.
    if (process.channel) process.once('disconnect', () => stop('launcher exited'))
    void databaseLost.then(() => stop('database lost'))
  })

/** Reasons for which the service does not wait until a load balancer has noticed. */
export const urgentReasons: readonly StopReason[] = ['SIGINT', 'launcher exited', 'database lost']
