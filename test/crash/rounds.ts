/** Kills the service at random moments while it sends, restarts it, and compares the results with the acknowledgements. */
import { setTimeout as wait } from 'node:timers/promises'
import { until } from '../start/launched.ts'
import { type Load, makeLoad } from './load.ts'
import { type CrashReport, countOutcomes } from './report.ts'
import { openService } from './service.ts'

/** The local outbox keeps the newest 10,000 messages, and every sent message must still be in it. */
const maxSent = 9_000

const countWays = ({ promised }: Load): number => new Set(promised.map(({ how }) => how)).size

export const crashRounds = async (
  rounds: number,
  report: (line: string) => void,
): Promise<CrashReport & { refused: Record<string, number> }> => {
  const service = await openService()
  const load = makeLoad()
  const stale = new Set<string>()
  const killed: number[] = []
  try {
    await service.start()
    for (let round = 1; round <= rounds; round++) {
      const { stop } = load.drive(service, 12, Math.floor(maxSent / 2 / rounds))
      // On a slow machine, the first acknowledgement of each kind can take longer than a round.
      if (round === 1) await until('every way of sending works', () => countWays(load) === 4)
      const ms = Math.round(300 + Math.random() * 1_900)
      await wait(ms)
      await service.kill()
      killed.push(Date.now())
      await stop()
      // Messages that were claimed when the service died may be sent a second time.
      const claimed = await service.sql<{ id: string }>("select id from messages where status = 'sending'")
      for (const { id } of claimed) stale.add(id)
      report(`round ${round}: killed after ${ms} ms, ${load.promised.length} acknowledged, ${claimed.length} claimed`)
      await service.start()
    }
    return { ...(await countOutcomes(service, load, stale, killed)), refused: load.refused }
  } finally {
    await service.close()
  }
}
