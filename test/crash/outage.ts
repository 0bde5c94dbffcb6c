/** Restarts the database while the service sends, and reckons up in the end. */
import { setTimeout as wait } from 'node:timers/promises'
import { until } from '../start/launched.ts'
import { makeLoad } from './load.ts'
import { type CrashReport, countOutcomes } from './report.ts'
import { openService } from './service.ts'

export type Outages = CrashReport & {
  refused: Record<string, number>
  /** Acknowledged after each restart, without anybody's help. */
  recovered: number[]
}

export const databaseOutages = async (restarts: number): Promise<Outages> => {
  const service = await openService()
  const load = makeLoad()
  const recovered: number[] = []
  const taken = () => load.promised.filter(({ how }) => how !== 'failed').length
  try {
    await service.start()
    const { stop } = load.drive(service, 8, 4_000)
    for (let restart = 0; restart < restarts; restart++) {
      await wait(1_500)
      const before = await service.postmaster()
      // Ends every connection at once, as `pg_ctl restart` does.
      process.kill(before, 'SIGINT')
      await until('another server runs', async () => (await service.postmaster().catch(() => before)) !== before)
      const known = taken()
      await until('messages are acknowledged again', () => taken() > known + 20, 60_000)
      recovered.push(taken() - known)
    }
    await stop()
    // Sent again is only what was tried again: the word of the first try was lost with the connection.
    const retried = async () => {
      const rows = await service.sql<{ id: string }>("select id from messages where attempts > 0 or status = 'sending'")
      return new Set(rows.map(({ id }) => id))
    }
    return { ...(await countOutcomes(service, load, await retried())), refused: load.refused, recovered }
  } finally {
    await service.close()
  }
}
