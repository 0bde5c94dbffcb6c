import pg from 'pg'
import { migrate } from '../../src/platform/db/migrate.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { silentLog } from '../../src/platform/ground/log.ts'
import type { TestDatabase } from './database.ts'

/** Migrates an empty database up to the given migration, or to the last. Tests insert rows of earlier releases in between. */
export const migrateTo = ({ url }: TestDatabase, upTo?: string): ReturnType<typeof migrate> => {
  const connect = async () => {
    const client = new pg.Client(url)
    await client.connect()
    return client
  }
  return migrate({ connect, clock: systemClock, log: silentLog() }, upTo)
}
