/** Reads an org with many messages: as an export, or only its messages with a plain COPY. */
import { setTimeout as sleep } from 'node:timers/promises'
import { to as copyTo } from 'pg-copy-streams'
import { build } from '../../src/app/wiring/build.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { makeWriteOrg } from '../../src/reports/exports/write-org.ts'
import { fill, fillOnce } from './filled.ts'
import { workBench } from './work.ts'

type Params = { databaseUrl: string; messages: number; read: 'export' | 'copy' | 'idle' }

const readAll = async (parts: AsyncIterable<Buffer>): Promise<void> => {
  let bytes = 0
  for await (const part of parts) bytes += part.length
  if (bytes === 0) throw new Error('nothing was read')
}

const fillWithMessages = async (databaseUrl: string, messages: number): Promise<void> => {
  const filled = await fill(databaseUrl)
  await filled.add(messages, null)
  await filled.close()
}

workBench(async ({ databaseUrl, messages, read }: Params) => {
  const { config, log, org } = await fillOnce(databaseUrl, () => fillWithMessages(databaseUrl, messages))
  const service = await build(config, databaseUrl, log)
  const { db } = service
  const writeOrg = makeWriteOrg({ db, clock: systemClock })
  const copy = async (): Promise<void> => {
    const client = await db.connect()
    try {
      await client.query('set statement_timeout = 0')
      await readAll(client.query(copyTo(`copy (select * from messages where org_id = '${org.id}') to stdout`)))
    } finally {
      await client.end()
    }
  }
  const work = { export: () => readAll(writeOrg(org.id)), copy, idle: () => sleep(1_000) }
  return { units: 3, one: work[read], close: service.stop }
})
