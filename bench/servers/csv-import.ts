/** Loads people into an audience: from a CSV file, or with the COPY of the rows that such an import writes. */
import { pipeline } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import { build } from '../../src/app/wiring/build.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { makeImportCsv } from '../../src/recipients/audiences/csv/import-csv.ts'
import { makeManageAudiences } from '../../src/recipients/audiences/manage-audiences.ts'
import { fill } from './filled.ts'
import { workBench } from './work.ts'

type Params = { databaseUrl: string; by: 'import' | 'copy'; rows: number; contacts: number }

workBench(async ({ databaseUrl, by, rows, contacts }: Params) => {
  const filled = await fill(databaseUrl)
  const { orgId } = filled
  await filled.close()
  const service = await build(filled.config, databaseUrl, filled.log)
  const { db, modules } = service
  const needs = { db, clock: systemClock, audit: modules.audit }
  const scope = { orgId, tenantId: null, environment: 'live', projectId: null } as const
  const actor = { kind: 'key', keyId: 'key_bench', ip: null, userAgent: 'bench' } as const
  const importCsv = makeImportCsv(needs)
  const { id: audienceId } = await makeManageAudiences(needs).create(scope, actor, { name: 'Bench' })
  const client = await db.connect()
  await client.query(
    `insert into contacts (org_id, id, created_environment, email, created_at, updated_at)
     select $1, 'con_' || n, 'live', 'known' || n || '@example.com', $2, $2 from generate_series(1, $3::int) n`,
    [orgId, new Date(), contacts],
  )
  await client.query('vacuum analyze contacts')
  let files = 0

  const copy = async (table: string, lines: string[]): Promise<void> => {
    await pipeline([lines.join('')], client.query(copyFrom(`copy ${table} from stdin`)))
  }
  const copyRows = async (file: number): Promise<void> => {
    const at = new Date().toISOString()
    const ids = Array.from({ length: rows }, () => newId('contact'))
    const lines = ids.map(
      (id, n) => `${orgId}\t${id}\tlive\tUser ${n}\tuser${n}-${file}@example.com\t{"plan": "pro"}\t${at}\t${at}\n`,
    )
    const members = ids.map((id) => `${orgId}\t${audienceId}\t${id}\t${at}\n`)
    await client.query('begin')
    await copy('contacts (org_id, id, created_environment, name, email, metadata, created_at, updated_at)', lines)
    await copy('audience_members (org_id, audience_id, contact_id, created_at)', members)
    await client.query('commit')
  }
  const importFile = async (file: number): Promise<void> => {
    const lines = Array.from({ length: rows }, (_, n) => `user${n}-${file}@example.com,User ${n},pro\n`)
    const bytes = Buffer.from(`email,name,plan\n${lines.join('')}`)
    const { created } = await importCsv(scope, actor, audienceId, bytes)
    if (created !== rows) throw new Error(`${created} contacts were created`)
  }
  return {
    units: 3,
    one: () => (by === 'import' ? importFile(++files) : copyRows(++files)),
    close: async () => {
      await client.end()
      await service.stop()
    },
  }
})
