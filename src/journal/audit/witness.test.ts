/** The service writes the heads of its chains to the witness. */
import { appendFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { linksOf, writer } from '../../../test/audit/chain.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { startTestService } from '../../../test/service/service.ts'
import { type MovableClock, movableClock } from '../../platform/ground/clock.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeFileWitness, readFileWitness } from './file-witness.ts'
import { headToken, parseHeadToken } from './witness.ts'

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-witness-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

const head = (seq: number, org_id = 'org_a') => ({
  org_id,
  seq,
  digest: 'd'.repeat(64),
  signature: 'e'.repeat(64),
})

const headsIn = async (path: string) => (await Array.fromAsync(readFileWitness(path))).map((line) => line.head)

test('heads are written once a minute, the newest of each org, and the rest when the service stops', async () => {
  const path = join(await newFolder(), 'heads.ndjson')
  const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: 'secret', AUDIT_WITNESS: path } })
  const clock = t.service.clock as MovableClock
  const { one } = writer(t)
  const { org } = await t.org()
  const writeAndLink = async (name: string) => {
    await one(org.id, name)
    await t.service.chain.link()
  }
  const written = async () => (await headsIn(path)).map((line) => [line?.org_id, line?.seq])
  await writeAndLink('a')
  const first = [
    [org.id, 1],
    ['register', 1],
  ]
  expect(await written()).toEqual(first)
  await writeAndLink('b')
  await writeAndLink('c')
  expect(await written()).toEqual(first)
  clock.advance(60_000)
  await t.service.chain.link()
  expect(await written()).toEqual([...first, [org.id, 3]])
  await writeAndLink('d')
  const links = await linksOf(t, org.id)
  await t.stop()
  expect(await written()).toEqual([...first, [org.id, 3], [org.id, 4]])
  expect((await headsIn(path)).at(-1)?.digest).toBe(links[3]?.digest.toString('hex'))
})

test('a failed write is logged, and the heads are written with the next ones', async () => {
  const folder = await newFolder()
  const path = join(folder, 'absent', 'heads.ndjson')
  const logFile = await openLogFile()
  onTestFinished(logFile.remove)
  const failing = makeFileWitness({ path, clock: movableClock(0), log: logFile.log })
  failing.note(head(1))
  await failing.flush()
  await expect
    .poll(async () => (await logFile.lines('audit witness write failed')).map((line) => [line.level, line.heads]))
    .toEqual([[50, 1]])
  await mkdir(join(folder, 'absent'))
  failing.note(head(7, 'org_b'))
  await failing.flush()
  expect(await headsIn(path)).toEqual([head(1), head(7, 'org_b')])
})

test('two processes can append to one witness, and a torn line spoils no other', async () => {
  const path = join(await newFolder(), 'heads.ndjson')
  const writers = [1, 2].map(() => makeFileWitness({ path, clock: movableClock(0), log: silentLog() }))
  await appendFile(path, '{"org_id":"org_a","se')
  for (const [i, each] of writers.entries()) {
    each.note(head(i + 1, `org_${i}`))
    await each.flush()
    await each.flush()
  }
  expect(await headsIn(path)).toEqual([undefined, head(1, 'org_0'), head(2, 'org_1')])
  expect((await readFile(path, 'utf8')).endsWith('\n')).toBe(true)
})

test('a head on the command line has four parts', () => {
  expect(parseHeadToken(headToken(head(3)))).toEqual(head(3))
  const [digest, signature] = ['d'.repeat(64), 'e'.repeat(64)]
  for (const bad of [
    '',
    'org_a',
    `org_a:0:${digest}:${signature}`,
    `org_a:1.5:${digest}:${signature}`,
    `org_a:1:d:e`,
  ]) {
    expect(parseHeadToken(bad), bad).toBeUndefined()
  }
})
