import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { linksOf, writer } from '../test/audit/chain.ts'
import { startTestService } from '../test/service/service.ts'
import { presentTree, type Tree } from './tree.ts'
import { makeWorkers } from './workers.ts'

const folder = await mkdtemp(join(tmpdir(), 'tidings-workers-'))
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: 'bench' } })
afterAll(async () => {
  await t.stop()
  await rm(folder, { recursive: true, force: true })
})

const startWorkers = () => {
  const workers = makeWorkers(folder)
  onTestFinished(() => workers.stop())
  return workers
}

/** An org with an audit entry that waits for a worker. */
const orgWithEntry = async (): Promise<string> => {
  const { org } = await t.org()
  await writer(t).one(org.id, 'a')
  return org.id
}

test('The worker of a tree links the audit entries of a database, and the wait ends when it has', async () => {
  const orgId = await orgWithEntry()
  const workers = startWorkers()
  await workers.start(presentTree, t.database.url)
  expect(await workers.untilDone()).toBe(true)
  expect((await linksOf(t, orgId)).map(({ seq, resource_id }) => [seq, resource_id])).toEqual([[1, 'a']])
})

test('A worker that exits fails the run', async () => {
  await orgWithEntry()
  const tree: Tree = { folder, name: 'c9fd9ab', serviceFlags: [] }
  await mkdir(join(folder, 'src'))
  await writeFile(join(folder, 'src', 'main.ts'), "process.exit(process.argv[2] === 'worker' ? 3 : 0)")
  const workers = startWorkers()
  await workers.start(tree, t.database.url)
  await expect(workers.untilDone()).rejects.toThrow('a worker exited with 3')
})

test('Without a worker there is nothing to wait for', async () => {
  await orgWithEntry()
  expect(await startWorkers().untilDone()).toBe(true)
})
