/** Kills the service at random moments while it sends, starts it again, and reckons up in the end. */
import { setTimeout as wait } from 'node:timers/promises'
import { until } from '../start/launched.ts'
import { type Load, makeLoad } from './load.ts'
import { type CrashReport, countOutcomes } from './report.ts'
import { openService } from './service.ts'

/** The outbox keeps the newest 10,000, and all that was sent must still be in it. */
const sentAtMost = 9_000

const waysIn = ({ promised }: Load): number => new Set(promised.map(({ how }) => how)).size

export const crashRounds = async (
  rounds: number,
  say: (line: string) => void,
): Promise<CrashReport & { refused: Record<string, number> }> => {
  const service = await openService()
  const load = makeLoad()
  const stale = new Set<string>()
  try {
    await service.start()
    for (let round = 1; round <= rounds; round++) {
      const { stop } = load.drive(service, 12, Math.floor(sentAtMost / 2 / rounds))
      // A slow machine may need longer than a round has until it acknowledged something of each kind.
      if (round === 1) await until('every way of sending works', () => waysIn(load) === 4)
      const ms = Math.round(300 + Math.random() * 1_900)
      await wait(ms)
      await service.kill()
      await stop()
      // What it had in hand when it died: whoever takes it up later may send it a second time.
      const held = await service.sql<{ id: string }>("select id from messages where status = 'sending'")
      for (const { id } of held) stale.add(id)
      say(`round ${round}: killed after ${ms} ms, ${load.promised.length} acknowledged, ${held.length} claims held`)
      await service.start()
    }
    return { ...(await countOutcomes(service, load, stale)), refused: load.refused }
  } finally {
    await service.close()
  }
}
