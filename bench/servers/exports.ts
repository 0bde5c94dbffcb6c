/** Reads an org with many messages: as an export, or only its messages with a plain COPY. */
import { setTimeout as sleep } from 'node:timers/promises'
import { to as copyTo } from 'pg-copy-streams'
import { makeWriteOrg } from '../../src/exports/write-org.ts'
import { systemClock } from '../../src/ground/clock.ts'
import { build } from '../../src/wiring/build.ts'
import { fill } from './filled.ts'
import { workBench } from './work.ts'

type Params = { databaseUrl: string; messages: number; read: 'export' | 'copy' | 'idle' }

const readAll = async (parts: AsyncIterable<Buffer>): Promise<void> => {
  let bytes = 0
  for await (const part of parts) bytes += part.length
  if (bytes === 0) throw new Error('nothing was read')
}

workBench(async ({ databaseUrl, messages, read }: Params) => {
  const filled = await fill(databaseUrl)
  const { orgId } = filled
  await filled.add(messages, null)
  await filled.close()
  // The ids of all messages would count as memory of the export.
  filled.ids.length = 0
  const service = await build(filled.config, databaseUrl, filled.log)
  const { db } = service
  const writeOrg = makeWriteOrg({ db, clock: systemClock })
  const copy = async (): Promise<void> => {
    const client = await db.connect()
    try {
      await client.query('set statement_timeout = 0')
      await readAll(client.query(copyTo(`copy (select * from messages where org_id = '${orgId}') to stdout`)))
    } finally {
      await client.end()
    }
  }
  const work = { export: () => readAll(writeOrg(orgId)), copy, idle: () => sleep(1_000) }
  return { units: 3, one: work[read], close: service.stop }
})
