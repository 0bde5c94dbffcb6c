/** Runs every attack that docs/audit.md lists, and compares the page with that list. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { type Attack, attacks, restoreTables, saveTables, type Target } from '../../../test/audit/attacks.ts'
import { unwitnessed, whole } from '../../../test/audit/chain.ts'
import { tamper } from '../../../test/audit/tamper.ts'
import { tidings } from '../../../test/service/command-line.ts'
import { startTestService } from '../../../test/service/service.ts'
import { ops } from '../../app/command/ops.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import type { Actor } from './append.ts'
import { findingNames } from './verify-chain.ts'
import { type ChainPosition, makeVerifyChainPage } from './verify-chain-page.ts'

const secret = 'audit-test-secret'
const folder = await mkdtemp(join(tmpdir(), 'tidings-witness-'))
const witness = join(folder, 'heads.ndjson')
const t = await startTestService({
  env: { AUDIT_SIGNING_SECRET: secret, AUDIT_LOG_RETENTION_DAYS: '30', AUDIT_WITNESS: witness },
})
afterAll(async () => {
  await t.stop()
  await rm(folder, { recursive: true })
})
const { chain, db } = t.service
const { audit, writtenEntries } = t.service.modules
// The tests check for lost entries when they need to. `restore` would make it find some at any time.
writtenEntries.close()

let orgId: string
let ids: string[]

const actor: Actor = { kind: 'user', userId: newId('user'), ip: '203.0.113.9', userAgent: 'Firefox' }
const write = async (): Promise<string> => {
  const metadata = { name: 'CI', environment: 'live' }
  const entry = { orgId, actor, resourceType: 'api_key', resourceId: newId('key'), metadata } as const
  await db.tx((tx) => audit(tx, { ...entry, action: 'api_key.created' }))
  const [row] = await t.database.sql<{ id: string }>('select id from audit_entries where resource_id = $1', [
    entry.resourceId,
  ])
  return row?.id as string
}

/** Exits with 1 for every error, as main.ts does, and prints only those that the operator can act on. */
const run = async (...args: string[]) => {
  let output = ''
  const config = readConfig({ DATABASE_URL: t.database.url, AUDIT_SIGNING_SECRET: secret })
  try {
    await ops(config, silentLog(), ['audit', ...args], (text) => {
      output += text
    })
    return { code: 0, output, error: '' }
  } catch (error) {
    if (!(error instanceof OperatorFault)) throw error
    return { code: 1, output, error: error.message }
  }
}
const verify = async (...options: string[]) => {
  const { code, output, error } = await run('verify', orgId, '--json', ...options)
  return { code, report: JSON.parse(output), error }
}
const fault = 'The audit chain of this org is not intact.'

const target = (): Target => ({
  t,
  orgId,
  ids,
  write,
  sql: async (...statements) => {
    const filled = statements.map((sql): [string] => [
      sql.replaceAll(/\$(\d)/g, (_, n) => `'${[orgId, ...ids][Number(n) - 1]}'`),
    ])
    await tamper(t.database, ...filled)
  },
  link: chain.link,
  retain: async () => t.service.tasks.retention?.run(),
  save: async () => {
    await saveTables(t)
  },
  restore: async () => {
    await restoreTables(t)
  },
  head: async () => (await run('head', orgId)).output.trim(),
  witness: async () => {
    await chain.close()
    return witness
  },
})

beforeEach(async () => {
  // The state before this org, to which `restore` goes back unless the attack saves a later one.
  await chain.link()
  await chain.close()
  await rm(witness, { force: true })
  await saveTables(t)
  orgId = (await t.org()).org.id
  ids = []
  for (let i = 0; i < 5; i++) ids.push(await write())
  await chain.link()
  await chain.close()
})

const clean = () => ({ ...whole(orgId, 5), ...unwitnessed })

const cutover = readConfig({}).auditCutover.at
const verifyPage = makeVerifyChainPage({ db, clock: t.service.clock, log: silentLog(), secrets: [secret], cutover })

/** The findings of all pages of two links each, without the register, which is not part of them. */
const walkPages = async () => {
  const first = await verifyPage(orgId, 2)
  const found = { ...first }
  for (let next: ChainPosition | undefined = first.next; next; ) {
    const page = await verifyPage(orgId, 2, next)
    found.checked += page.checked
    for (const name of findingNames) found[name] = [...page[name], ...found[name]]
    next = page.next
  }
  const { next: _, ...report } = found
  return report
}

test('the table of attacks in docs/audit.md is the list that these tests run', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/audit.md'), 'utf8')
  const section = page.split('## Attacks that verification shows\n')[1]?.split('\n## ')[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  expect(rows.slice(1)).toEqual(attacks.map(({ attack, shows }) => `| ${attack} | ${shows} |`))
})

test('an untouched log is clean with its witness, with a kept head and among all orgs', async () => {
  const head = (await run('head', orgId)).output.trim()
  expect(head).toMatch(new RegExp(`^${orgId}:5:[0-9a-f]{64}:[0-9a-f]{64}$`))
  const compared = { ...clean(), witnessed: 2 }
  expect(await verify('--witness', witness, '--head', head)).toEqual({ code: 0, report: compared, error: '' })
  const all = await run('verify', '--all', '--witness', witness)
  expect(all).toEqual({ code: 0, output: expect.stringMatching(/^orgs verified +\d+\n$/), error: '' })
})

test('verifying all orgs names the org whose whole log was deleted', async () => {
  await target().sql(
    'delete from audit_entries where org_id = $1',
    'delete from audit_links where org_id = $1',
    'delete from audit_chains where org_id = $1',
  )
  const { code, output, error } = await run('verify', '--all')
  expect([code, error]).toEqual([1, `The audit chains of these orgs are not intact: ${orgId}`])
  expect(output).toMatch(new RegExp(`^org_id +${orgId}\n(.*\n)*head +deleted\n`))
  await restoreTables(t)
})

test('a line that someone else added to the witness is reported, and a torn line is counted', async () => {
  const lines = (await readFile(witness, 'utf8')).trim().split('\n')
  const last = JSON.parse(lines.findLast((line) => line.includes(orgId)) as string)
  expect(last).toEqual({
    org_id: orgId,
    seq: 5,
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    signature: expect.stringMatching(/^[0-9a-f]{64}$/),
    at: expect.any(String),
  })
  const forged = join(folder, 'forged.ndjson')
  await writeFile(forged, `${JSON.stringify(last)}\n{"org_id":"${orgId}","seq"\n`)
  expect(await verify('--witness', forged)).toEqual({
    code: 0,
    report: { ...clean(), witnessed: 1, unreadable_lines: 1 },
    error: '',
  })
  await writeFile(forged, `${JSON.stringify({ ...last, seq: 9 })}\n`)
  const planted = { ...clean(), witnessed: 0, forged_lines: [1] }
  expect(await verify('--witness', forged)).toEqual({ code: 1, report: planted, error: fault })
  const head = [last.org_id, 9, last.digest, last.signature].join(':')
  expect(await run('verify', orgId, '--head', head)).toEqual({
    code: 1,
    output: '',
    error: '--head is not signed with AUDIT_SIGNING_SECRET.',
  })
  const absent = await run('verify', orgId, '--witness', join(folder, 'absent'))
  expect([absent.code, absent.error]).toEqual([1, expect.stringMatching(/^Cannot read the witness: .*--witness\.$/)])
})

test('A-200 A-201 operator commands write entries without a signature that verify', async () => {
  const config = readConfig({ DATABASE_URL: t.database.url, AUDIT_SIGNING_SECRET: secret })
  const command = (...args: string[]) =>
    ops(config, silentLog(), ['org', ...args, '--operator', 'ann'], () => undefined)
  await command('suspend', orgId, '--reason', 'abuse')
  await command('unsuspend', orgId)
  expect(await verify()).toEqual({ code: 0, report: { ...clean(), checked: 7 }, error: '' })
  const rows = await t.database.sql<{ id: string; signature: string | null }>(
    "select id, signature from audit_entries where org_id = $1 and user_agent = 'operator-tool' order by id",
    [orgId],
  )
  expect(rows.map((row) => row.signature)).toEqual([null, null])
  await target().sql(
    `update audit_entries set metadata = '{"reason":"none","operator":"bob"}' where id = '${rows[0]?.id}'`,
  )
  const changed = [rows[0]?.id]
  expect((await verify()).report).toEqual({ ...clean(), checked: 7, broken: changed, invalid: changed })
  await restoreTables(t)
})

test('an operator can continue a log that was deleted, and the witness still shows what is lost', async () => {
  await target().sql(
    'delete from audit_entries where org_id = $1',
    'delete from audit_links where org_id = $1',
    'delete from audit_chains where org_id = $1',
  )
  const trusted = await run('trust', orgId, '--operator', 'ann', '--json')
  expect(trusted).toEqual({
    code: 0,
    output: `${JSON.stringify({ org_id: orgId, head: 'deleted', pruned: 'none' })}\n`,
    error: '',
  })
  expect(await verify()).toEqual({ code: 0, report: { ...clean(), checked: 1, pruned: 'ok' }, error: '' })
  expect(await verify('--witness', witness)).toMatchObject({ code: 1, report: { rolled_back: [5] }, error: fault })
  expect(await run('trust', orgId)).toMatchObject({ code: 1, error: expect.stringMatching(/^--operator is required/) })
  await restoreTables(t)
})

test('without the secret, the command exits with 1 and says what to set', async () => {
  const env = { DATABASE_URL: t.database.url, LOG_LEVEL: 'silent' }
  expect(await tidings(['ops', 'audit', 'verify', orgId], env)).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'AUDIT_SIGNING_SECRET is not set, so the audit log cannot be verified. This does not mean that the log is intact. Set AUDIT_SIGNING_SECRET to the secret that the service uses.\n',
  })
})

test.each(attacks)('$attack: shows $shows', async ({ run: attack }: Attack) => {
  expect(await verify()).toEqual({ code: 0, report: clean(), error: '' })
  const { found, options = [] } = await attack(target())
  const { code, report, error } = await verify(...options)
  expect({ code, report, error }).toEqual({ code: 1, report: { ...clean(), ...found }, error: fault })
  const pages = await walkPages()
  for (const name of findingNames) expect(pages[name].toSorted(), name).toEqual(report[name].toSorted())
  const { checked, head, pruned, waiting } = report
  expect(pages).toMatchObject({ checked, head, pruned, waiting })
  // The finding stays when the service continues to work.
  await chain.link()
  await target().retain()
  expect(await verify(...options)).toMatchObject({ code: 1, error: fault })
  await restoreTables(t)
})

test('any changed value of any column of any entry is reported with the id of the entry', async () => {
  const columns = await t.database.sql<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
     where table_name = 'audit_entries' and table_schema = 'public'`,
  )
  const waiting = [await write(), await write()]
  // Verified without linking first, so that these two stay in the queue.
  const changes: Record<string, string> = {
    text: "coalesce(VALUE, '') || 'x'",
    jsonb: `VALUE || '{"x":1}'`,
    'timestamp with time zone': "VALUE + interval '1 ms'",
  }
  const all = [...ids, ...waiting]
  const cases = fc.record({ entry: fc.constantFrom(...all), column: fc.constantFrom(...columns) })
  await saveTables(t)
  await fc.assert(
    fc.asyncProperty(cases, async ({ entry, column: { name, type } }) => {
      const value = (changes[type] ?? 'null').replace('VALUE', name)
      await tamper(t.database, [`update audit_entries set ${name} = ${value} where id = $1`, [entry]])
      const report = await chain.verify(orgId)
      const { missing, broken, invalid, stripped, misdated, stray } = report
      await restoreTables(t)
      expect([missing, broken, invalid, stripped, misdated, stray].flat(), `${name} of ${entry}`).toContain(entry)
    }),
    {
      numRuns: 40,
      examples: columns.flatMap((column) => [ids[2], waiting[0]].map((entry) => [{ entry, column }])) as [],
    },
  )
  expect(await chain.verify(orgId)).toEqual(whole(orgId, 5, { waiting: 2 }))
})
