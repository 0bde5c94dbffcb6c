/** The hash chain of the audit log: linking entries, and the command that verifies it. */
import { createHash, createHmac } from 'node:crypto'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { chainOf, linksOf, unwitnessed, whole, writer } from '../../../test/audit/chain.ts'
import { tamper } from '../../../test/audit/tamper.ts'
import { tidings } from '../../../test/service/command-line.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { startTestService, testService } from '../../../test/service/service.ts'
import { ops as runOps } from '../../app/command/ops.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'

const secret = 'audit-test-secret'

describe('linking', async () => {
  const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret } })
  afterAll(() => t.stop())
  const { one, many } = writer(t)
  const { chain } = t.service

  test('links entries in order, each with a digest over the previous link and the entry', async () => {
    const { org } = await t.org()
    for (const name of ['a', 'b', 'c']) await one(org.id, name)
    expect(await chain.verify(org.id)).toEqual(whole(org.id, 0, { head: 'none', register: 'none', waiting: 3 }))
    expect(await chain.link()).toBe(3)
    expect(await chain.link()).toBe(0)
    const links = await linksOf(t, org.id)
    expect(links.map(({ seq, resource_id }) => [seq, resource_id])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
    ])
    let digest = Buffer.alloc(0)
    for (const { seq, entry_id, digest: stored } of links) {
      const [row] = await t.database.sql<{ created_at: Date; metadata: object }>(
        'select created_at, metadata from audit_entries where id = $1',
        [entry_id],
      )
      const { created_at, metadata } = row as NonNullable<typeof row>
      const name = links[seq - 1]?.resource_id
      expect(metadata).toEqual({ note: `about ${name}`, via: 'system' })
      const text = JSON.stringify([
        seq,
        org.id,
        entry_id,
        'org.updated',
        'org',
        name,
        { note: `about ${name}`, via: 'system' },
        created_at.toISOString(),
      ])
      digest = createHash('sha256').update(digest).update(text).digest()
      expect(stored.equals(digest)).toBe(true)
    }
    const [row] = await t.database.sql(
      `select head_seq, head_digest, head_signature, pruned_seq, pruned_digest, pruned_signature
       from audit_chains where org_id = $1`,
      [org.id],
    )
    expect(row).toMatchObject({
      head_seq: '3',
      head_digest: digest,
      pruned_seq: '0',
      pruned_digest: null,
      pruned_signature: null,
      head_signature: createHmac('sha256', secret)
        .update(JSON.stringify(['registered', org.id, 3, digest.toString('hex')]))
        .digest('hex'),
    })
    expect(await chain.verify(org.id)).toEqual(whole(org.id, 3))
  })

  test('continues where it stopped, for any number of entries, separately per org', async () => {
    const [a, b] = [(await t.org()).org.id, (await t.org()).org.id]
    await many(a, 2_300)
    await many(b, 3)
    expect(await chain.link()).toBe(2_303)
    await many(a, 2, 2_300)
    expect(await chain.link()).toBe(2)
    expect((await linksOf(t, a)).map(({ seq, resource_id }) => `${seq} ${resource_id}`)).toEqual(
      Array.from({ length: 2_302 }, (_, i) => `${i + 1} e${i}`),
    )
    expect(await chain.verify(a)).toEqual(whole(a, 2_302))
    expect(await chain.verify(b)).toEqual(whole(b, 3))
  })

  test('links each entry once, even with concurrent linkers and writers', async () => {
    const { org } = await t.org()
    const linkers = [chain, chainOf(t, secret), chainOf(t, secret)]
    let writing = true
    const linking = linkers.map(async (linker) => {
      let linked = 0
      while (writing) linked += await linker.link()
      return linked
    })
    await Promise.all(Array.from({ length: 120 }, (_, i) => one(org.id, `e${i}`)))
    writing = false
    const linked = (await Promise.all(linking)).reduce((sum, n) => sum + n, await chain.link())
    expect(linked).toBe(120)
    expect(new Set((await linksOf(t, org.id)).map(({ resource_id }) => resource_id)).size).toBe(120)
    expect(await chain.verify(org.id)).toEqual(whole(org.id, 120))
  })

  test('continues with other orgs when the chain of one was tampered with', async () => {
    const ids = [(await t.org()).org.id, (await t.org()).org.id].sort()
    const [first, second] = ids as [string, string]
    await one(first, 'a')
    await chain.link()
    // Without its head, the chain would start again at a sequence number that exists.
    await t.database.sql('delete from audit_chains where org_id = $1', [first])
    await one(first, 'b')
    await one(second, 'c')
    const logFile = await openLogFile()
    onTestFinished(logFile.remove)
    const linker = chainOf(t, secret, logFile.log)
    expect(await linker.link()).toBe(1)
    expect(await chain.verify(second)).toEqual(whole(second, 1))
    const links = await linksOf(t, first)
    expect(await chain.verify(first)).toMatchObject({ broken: [links[0]?.entry_id], head: 'deleted', waiting: 1 })
    await expect
      .poll(async () =>
        (await logFile.lines('audit chains not verified')).map(({ org_ids, faults }) => [org_ids, faults]),
      )
      .toEqual([[[first], { 'the head of the audit chain is deleted': 1 }]])
  })

  test('logs the new head, so that a copy of it exists outside the database', async () => {
    const { org } = await t.org()
    const logFile = await openLogFile()
    onTestFinished(logFile.remove)
    await many(org.id, 3)
    await chainOf(t, secret, logFile.log).link()
    const [last] = (await linksOf(t, org.id)).slice(-1)
    await expect
      .poll(async () =>
        (await logFile.lines('audit chain extended'))
          .filter((line) => line.org_id === org.id)
          .map(({ seq, digest }) => [seq, digest]),
      )
      .toEqual([[3, last?.digest.toString('hex')]])
  })

  test('runs in the worker', async () => {
    const { org } = await t.org()
    await one(org.id, 'a')
    const worker = await testService({ database: t.database, env: { AUDIT_SIGNING_SECRET: secret } })
    await worker.service.startWorker()
    await expect.poll(() => linksOf(t, org.id)).toHaveLength(1)
    await one(org.id, 'b')
    await expect.poll(() => linksOf(t, org.id)).toHaveLength(2)
  })
})

describe('tidings ops audit verify', async () => {
  const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret } })
  afterAll(() => t.stop())
  const { many } = writer(t)
  const fault = 'The audit chain of this org is not intact.'

  const verify = async (orgId: string, ...options: string[]) => {
    let output = ''
    const config = readConfig({ DATABASE_URL: t.database.url, AUDIT_SIGNING_SECRET: secret })
    const error = await runOps(config, silentLog(), ['audit', 'verify', orgId, ...options], (text) => {
      output += text
    }).then(
      () => undefined,
      (error: Error) => error.message,
    )
    return { output, error }
  }

  test('links waiting entries, prints the report and succeeds when the chain is intact', async () => {
    const { org } = await t.org()
    await many(org.id, 3)
    expect(await verify(org.id, '--json')).toEqual({
      output: `${JSON.stringify({ ...whole(org.id, 3), ...unwitnessed })}\n`,
      error: undefined,
    })
    expect((await verify(org.id)).output).toBe(
      [
        `org_id             ${org.id}`,
        'checked            3',
        'missing            none',
        'broken             none',
        'invalid            none',
        'stripped           none',
        'misdated           none',
        'stray              none',
        'head               ok',
        'pruned             none',
        'register           ok',
        'waiting            0',
        'witnessed          none',
        'rolled_back        none',
        'forged_lines       none',
        'unreadable_lines   0',
        '',
      ].join('\n'),
    )
  })

  test.each([
    ['missing', 'delete from audit_entries where org_id = $1'],
    ['broken', "update audit_entries set action = 'x' where org_id = $1"],
    ['stray', "insert into audit_entries (org_id, id, action, created_at) values ($1, 'aud_x', 'x', '2026-11-01')"],
    ['cut_off', 'delete from audit_links where org_id = $1 and seq = 3'],
    ['invalid', "update audit_chains set head_signature = repeat('0', 64) where org_id = $1"],
    ['stripped', 'update audit_chains set head_signature = null where org_id = $1'],
    ['pruned', "update audit_chains set pruned_digest = '' where org_id = $1"],
  ])('prints the report and fails when the chain is %s', async (_, sql) => {
    const { org } = await t.org()
    await many(org.id, 3)
    await t.service.chain.link()
    await tamper(t.database, [sql, [org.id]])
    const { output, error } = await verify(org.id, '--json')
    expect(error).toBe(fault)
    const report = await t.service.chain.verify(org.id)
    expect(JSON.parse(output)).toEqual({ ...report, ...unwitnessed })
    expect(report).not.toEqual(whole(org.id, 3))
  })

  test('succeeds for an org without entries, and fails for an unknown org', async () => {
    const { org } = await t.org()
    expect(await verify(org.id, '--json')).toEqual({
      output: `${JSON.stringify({ ...whole(org.id, 0, { head: 'none' }), ...unwitnessed })}\n`,
      error: undefined,
    })
    const unknown = newId('org')
    expect(await verify(unknown)).toEqual({ output: '', error: `Org ${unknown} does not exist.` })
  })

  test('exits with 0 or 1, and prints the report to standard output and the error to standard error', async () => {
    const { org } = await t.org()
    await many(org.id, 2)
    const env = { DATABASE_URL: t.database.url, AUDIT_SIGNING_SECRET: secret, LOG_LEVEL: 'silent' }
    const command = ['ops', 'audit', 'verify', org.id, '--json']
    expect(await tidings(command, env)).toEqual({
      code: 0,
      stdout: `${JSON.stringify({ ...whole(org.id, 2), ...unwitnessed })}\n`,
      stderr: '',
    })
    await tamper(t.database, ['delete from audit_entries where org_id = $1', [org.id]])
    const { code, stdout, stderr } = await tidings(command, env)
    expect([code, JSON.parse(stdout).missing.length, stderr]).toEqual([1, 2, `${fault}\n`])
  })
})
