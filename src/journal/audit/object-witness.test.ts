/** The witness in an object store, against a loopback server that speaks the API of S3. */
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { restoreTables, saveTables } from '../../../test/audit/attacks.ts'
import { unwitnessed, whole, writer } from '../../../test/audit/chain.ts'
import { s3Credentials, startS3Server } from '../../../test/servers/s3.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { startTestService } from '../../../test/service/service.ts'
import { ops } from '../../app/command/ops.ts'
import { type MovableClock, movableClock } from '../../platform/ground/clock.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeS3Store } from '../../providers/objects/s3-store.ts'
import { makeObjectWitness, readObjectWitness } from './object-witness.ts'

const s3 = await startS3Server()
vi.stubEnv('AWS_ENDPOINT_URL_S3', s3.url)
vi.stubEnv('AWS_ACCESS_KEY_ID', s3Credentials.accessKeyId)
vi.stubEnv('AWS_SECRET_ACCESS_KEY', s3Credentials.secretAccessKey)
afterAll(async () => {
  vi.unstubAllEnvs()
  await s3.close()
})
beforeEach(() => {
  s3.objects.clear()
  s3.requests.length = 0
  s3.failWith = undefined
})

const digest = 'd'.repeat(64)
const head = (seq: number, org_id = 'org_a') => ({ org_id, seq, digest, signature: 'e'.repeat(64) })

const openStore = () => {
  const store = makeS3Store({ place: { bucket: 'kept', prefix: 'heads/' }, region: 'eu-west-1' })
  onTestFinished(() => store.close())
  return store
}

const openWitness = (log = silentLog()) => {
  const clock = movableClock(Date.parse('2026-11-16T10:00:00Z') - Date.now())
  return { clock, witness: makeObjectWitness({ store: openStore(), clock, log }) }
}

/** The heads in the store, in the order of their names. */
const stored = async () => {
  const lines = await Array.fromAsync(readObjectWitness(openStore()))
  return lines.map((line) => line.head && [line.head.org_id, line.head.seq])
}

test('Each head is an object of its own, and names sort by time', async () => {
  const { clock, witness } = openWitness()
  for (const [org, seq] of [
    ['org_b', 9],
    ['org_a', 10],
    ['org_a', 11],
  ] as const) {
    witness.note(head(seq, org))
    await witness.flush()
    clock.advance(3_600_000)
  }
  expect(await stored()).toEqual([
    ['org_b', 9],
    ['org_a', 10],
    ['org_a', 11],
  ])
  const names = [...s3.objects.keys()]
  expect(names[1]).toMatch(/^kept\/heads\/2026-11-16T11-00-0\d\.\d{3}Z_org_a_10_d{16}\.json$/)
  expect(JSON.parse(String(s3.objects.get(names[1] as string)))).toEqual({ ...head(10), at: expect.any(String) })
  expect(s3.requests.filter((request) => request.startsWith('PUT'))).toEqual(names.map((name) => `PUT /${name}`))
})

test('A store that is away is logged once and tried again each minute, and then gets the newest heads', async () => {
  const logFile = await openLogFile()
  onTestFinished(logFile.remove)
  const { clock, witness } = openWitness(logFile.log)
  const flushDueUntil = (isDone: () => boolean) =>
    expect
      .poll(async () => {
        await witness.flushDue()
        return isDone()
      })
      .toBe(true)
  s3.failWith = 503
  for (const seq of [1, 2, 3]) {
    witness.note(head(seq))
    // Due only once before the clock moves on.
    await flushDueUntil(() => s3.requests.length === seq)
    clock.advance(60_000)
  }
  witness.note(head(7, 'org_b'))
  expect(Math.round(witness.unwrittenMs() / 1_000)).toBe(180)
  s3.failWith = undefined
  await flushDueUntil(() => witness.unwrittenMs() === 0)
  expect((await stored()).toSorted()).toEqual([
    ['org_a', 3],
    ['org_b', 7],
  ])
  await expect.poll(async () => (await logFile.lines('audit witness written again')).length).toBe(1)
  expect(await logFile.lines('audit witness write failed')).toMatchObject([
    { level: 50, heads: 1, err: { message: 'SlowDown: because (status 503)' } },
  ])
})

test('A head whose response was lost is stored once, and a head that was stored is not sent again', async () => {
  const { clock, witness } = openWitness()
  s3.loseNext = true
  witness.note(head(1))
  await witness.flush()
  clock.advance(1_000)
  expect(witness.unwrittenMs()).toBeGreaterThanOrEqual(1_000)
  expect(s3.objects.size).toBe(1)
  await witness.flush()
  expect(witness.unwrittenMs()).toBe(0)
  await witness.flush()
  expect(s3.requests).toHaveLength(2)
  expect(await stored()).toEqual([['org_a', 1]])
})

test('A full queue of heads stops at the first failure, and the next write has them all', async () => {
  const { witness } = openWitness()
  const orgs = Array.from({ length: 30 }, (_, n) => `org_${String(n).padStart(2, '0')}`)
  for (const org of orgs) witness.note(head(1, org))
  s3.failWith = 507
  await witness.flush()
  expect(s3.requests.length).toBeLessThanOrEqual(8)
  s3.failWith = undefined
  await witness.close()
  expect((await stored()).map((line) => line?.[0]).toSorted()).toEqual(orgs)
})

test('Objects that are not heads are counted and do not stop the reading', async () => {
  const { witness } = openWitness()
  witness.note(head(1))
  await witness.flush()
  s3.objects.set('kept/heads/0', Buffer.from('{"org_id":'))
  s3.objects.set('kept/heads/1', Buffer.alloc(5_000, ' '))
  s3.objects.set('kept/heads/z', Buffer.alloc(0))
  s3.objects.set('kept/other', Buffer.from(JSON.stringify(head(5))))
  expect(await stored()).toEqual([undefined, undefined, ['org_a', 1], undefined])
})

test('A service writes its heads to the store, and verification shows a rollback with it', async () => {
  const env = { AUDIT_SIGNING_SECRET: 'secret', AUDIT_WITNESS: 's3://kept/heads' }
  const t = await startTestService({ env })
  onTestFinished(() => t.stop())
  const { many } = writer(t)
  const { org } = await t.org()
  const verify = async (...options: string[]) => {
    const config = readConfig({ DATABASE_URL: t.database.url, AUDIT_SIGNING_SECRET: 'secret' })
    let output = ''
    const error = await ops(config, silentLog(), ['audit', 'verify', org.id, '--json', ...options], (text) => {
      output += text
    }).catch((fault: Error) => fault.message)
    return { report: output && JSON.parse(output), error }
  }
  const kept = ['--witness', 's3://kept/heads']
  expect((await verify(...kept)).error).toBe(
    'Cannot read the witness: there are no objects at s3://kept/heads. Check --witness.',
  )
  const clock = t.service.clock as MovableClock
  t.service.modules.writtenEntries.close()
  for (const _ of [1, 2, 3]) {
    await saveTables(t)
    await many(org.id, 2)
    await t.service.chain.link()
    clock.advance(61_000)
    await t.service.chain.link()
    await expect.poll(async () => (await t.ask('GET', '/metrics')).text).toMatch(/^audit_witness_unwritten_seconds 0$/m)
  }
  expect((await stored()).filter((line) => line?.[0] === org.id).map((line) => line?.[1])).toEqual([2, 4, 6])
  expect(await verify(...kept)).toEqual({
    report: { ...whole(org.id, 6), ...unwitnessed, witnessed: 3 },
    error: undefined,
  })
  await restoreTables(t)
  expect(await verify(...kept)).toMatchObject({
    report: { checked: 4, witnessed: 3, rolled_back: [6], forged_lines: [] },
    error: 'The audit chain of this org is not intact.',
  })
  expect((await verify()).error).toBeUndefined()
  s3.failWith = 403
  expect((await verify(...kept)).error).toMatch(/^Cannot read the witness: .*403.*\. Check --witness\.$/)
  expect((await verify('--witness', 'gs://kept/heads')).error).toBe(
    '--witness must be a file path or an s3://bucket/prefix URL, not "gs://kept/heads".',
  )
})
