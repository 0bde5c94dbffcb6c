/** Runs docs/verify-audit-log.mjs, which verifies an exported log with nothing but the secret. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ops } from '../src/app/command/ops.ts'
import { makeEraseActor } from '../src/journal/audit/erase-actor.ts'
import { readConfig } from '../src/platform/ground/config/config.ts'
import { newId } from '../src/platform/ground/ids.ts'
import { silentLog } from '../src/platform/ground/log.ts'
import { startTestService } from './service/service.ts'

const secret = 'audit-test-secret'
const script = join(import.meta.dirname, '../docs/verify-audit-log.mjs')
const folder = await mkdtemp(join(tmpdir(), 'tidings-export-'))
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret } })
afterAll(async () => {
  await t.stop()
  await rm(folder, { recursive: true })
})
const { db } = t.service
const { audit } = t.service.modules
const config = readConfig({ DATABASE_URL: t.database.url, AUDIT_SIGNING_SECRET: secret })

const run = async (...args: string[]): Promise<string> => {
  let output = ''
  await ops(config, silentLog(), args, (text) => {
    output += text
  })
  return output
}

const { org } = await t.org()
const userId = newId('user')
const actor = { kind: 'user', userId, ip: '203.0.113.9', userAgent: 'Firefox' } as const
const entry = { orgId: org.id, actor, action: 'org.updated', resourceType: 'org', resourceId: org.id } as const
const metadata = { 9: 'nine', 10: ['ten', { z: 'é\u2028', a: null }], name: 'Größe "x"' }
await db.tx((tx) => audit(tx, { ...entry, metadata }, entry))
await run('org', 'suspend', org.id, '--reason', 'abuse', '--operator', 'ann')
await run('org', 'unsuspend', org.id, '--operator', 'ann')
const { auditCutover, auditSecrets: secrets } = config
const eraseActor = makeEraseActor({ log: silentLog(), secrets, cutover: auditCutover.at })
await db.tx((tx) => eraseActor(tx, userId))
await db.tx((tx) => audit(tx, entry))
const exported = (await run('audit', 'export', org.id)).trimEnd().split('\n')
const ids = exported.slice(1).map((line) => JSON.parse(line).entry_id as string)

type Outcome = { code: number; output: string }

const verify = async (lines: string[], given = secret, ...options: string[]): Promise<Outcome> => {
  const file = join(folder, 'audit.ndjson')
  await writeFile(file, `${lines.join('\n')}\n`)
  const env = { PATH: process.env.PATH, AUDIT_SIGNING_SECRET: given }
  return new Promise((resolve) => {
    execFile(process.execPath, [script, file, ...options], { env }, (error, stdout) =>
      resolve({ code: (error?.code as number | undefined) ?? 0, output: stdout }),
    )
  })
}

const first = `5 entries of ${org.id}, links 1 to 5\n`
const found = (...faults: string[]): string => `${first}${faults.join('\n')}\n${faults.length} faults\n`

/** The export with one entry changed. */
const changed = (at: number, values: object): string[] =>
  exported.map((line, i) => {
    const link = JSON.parse(line)
    return i === at ? JSON.stringify({ ...link, entry: { ...link.entry, ...values } }) : line
  })

test('an exported log verifies with nothing but the secret and the script', async () => {
  expect(exported).toHaveLength(6)
  expect(await verify(exported)).toEqual({ code: 0, output: `${first}intact\n` })
  const head = (await run('audit', 'head', org.id)).trim()
  expect(await verify(exported, secret, '--head', head)).toEqual({ code: 0, output: `${first}intact\n` })
})

test('the script finds an entry that was changed, stripped, resealed, moved or removed', async () => {
  const [one, two, three, four] = ids
  expect((await verify(changed(1, { actor_user_id: 'usr_x' }))).output).toBe(found(`invalid ${one}`))
  const wholly = found(`invalid ${two}`, `resealed ${two}`, `broken ${two}`)
  expect(await verify(changed(2, { resource_id: 'org_x' }))).toEqual({ code: 1, output: wholly })
  expect((await verify(changed(2, { ip_address: '::1' }))).output).toBe(found(`resealed ${two}`))
  expect((await verify(changed(2, { signature: null }))).output).toBe(found(`stripped ${two}`))
  expect((await verify(changed(3, { user_agent: 'x' }))).output).toBe(found(`stripped ${three}`, `resealed ${three}`))
  const without = await verify(exported.toSpliced(3, 1))
  expect(without).toEqual({ code: 1, output: `4 entries of ${org.id}, links 1 to 5\nbroken ${four}\n1 faults\n` })
  const swapped = exported.with(2, exported[3] as string).with(3, exported[2] as string)
  expect((await verify(swapped)).output).toContain(`broken ${three}\nbroken ${two}\n`)
  const cut = await verify(exported.slice(0, -1))
  expect(cut).toEqual({ code: 1, output: `4 entries of ${org.id}, links 1 to 5\ncut off head\n1 faults\n` })
})

test('with another secret nothing verifies', async () => {
  const { code, output } = await verify(exported, 'another')
  expect(code).toBe(1)
  for (const id of ids) expect(output).toMatch(new RegExp(`(invalid|stripped) ${id}`))
  expect(output).toContain('invalid head\n')
})

test('a kept head shows that the log was restored to an earlier state', async () => {
  const before = (await run('audit', 'export', org.id)).trimEnd().split('\n')
  await db.tx((tx) => audit(tx, entry))
  const head = (await run('audit', 'head', org.id)).trim()
  expect(await verify(before, secret, '--head', head)).toEqual({ code: 1, output: found('rolled back to before 6') })
})

test('docs/audit.md names the script and the command that exports', async () => {
  const page = await readFile(join(import.meta.dirname, '../docs/audit.md'), 'utf8')
  expect(page).toContain('tidings ops audit export')
  expect(page).toContain('(verify-audit-log.mjs)')
})
