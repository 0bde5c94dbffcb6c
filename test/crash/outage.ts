/** Restarts the database while the service sends, then compares the results with the acknowledgements. */
import { setTimeout as wait } from 'node:timers/promises'
import { until } from '../start/launched.ts'
import { makeLoad } from './load.ts'
import { type CrashReport, countOutcomes } from './report.ts'
import { openService } from './service.ts'

export type Outages = CrashReport & {
  refused: Record<string, number>
  /** The number of messages acknowledged after each restart. */
  recovered: number[]
}

export const databaseOutages = async (restarts: number): Promise<Outages> => {
  const service = await openService()
  const load = makeLoad()
  const recovered: number[] = []
  const accepted = () => load.promised.filter(({ how }) => how !== 'failed').length
  try {
    await service.start()
    const { stop } = load.drive(service, 8, 4_000)
    for (let restart = 0; restart < restarts; restart++) {
      await wait(1_500)
      const before = await service.postmaster()
      // Closes every connection at once, like `pg_ctl restart`.
      process.kill(before, 'SIGINT')
      await until('a new database server runs', async () => (await service.postmaster().catch(() => before)) !== before)
      const known = accepted()
      await until('messages are acknowledged again', () => accepted() > known + 20, 60_000)
      recovered.push(accepted() - known)
    }
    await stop()
    // Only retried messages may be sent twice, because the result of the first attempt was lost with the connection.
    const retried = async () => {
      const rows = await service.sql<{ id: string }>("select id from messages where attempts > 0 or status = 'sending'")
      return new Set(rows.map(({ id }) => id))
    }
    return { ...(await countOutcomes(service, load, await retried())), refused: load.refused, recovered }
  } finally {
    await service.close()
  }
}
