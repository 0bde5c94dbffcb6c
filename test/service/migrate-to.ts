import pg from 'pg'
import { migrate } from '../../src/db/migrate.ts'
import { systemClock } from '../../src/ground/clock.ts'
import { silentLog } from '../../src/ground/log.ts'
import type { TestDatabase } from './database.ts'

/** Brings an empty database up to that migration, or to the last: what an earlier release left can be put in between. */
export const migrateTo = ({ url }: TestDatabase, upTo?: string): ReturnType<typeof migrate> => {
  const connect = async () => {
    const client = new pg.Client(url)
    await client.connect()
    return client
  }
  return migrate({ connect, clock: systemClock, log: silentLog() }, upTo)
}
