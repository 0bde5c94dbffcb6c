/**
 * `npm run -s footprint`: how long `npm start` takes until the service is ready, and how much memory its processes take
 * when idle and under load. With `--against <commit>`, another commit is measured in the same run, in turns.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startLoad } from '../../bench/load.ts'
import { counterSlot, type RequestShape } from '../../bench/wire.ts'
import { sayStarted, startOnlyOption } from '../../scripts/start-only.ts'
import { freePort } from '../../src/platform/db/embedded/postmaster.ts'
import { findEmbedded } from '../../src/platform/db/embedded/supervisor.ts'
import { until } from '../start/launched.ts'
import { extractRelease, presentRelease } from '../upgrade/previous-release.ts'
import { type Memory, memoryOf, watchPeaks } from './memory.ts'

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    starts: { type: 'string', default: '5' },
    idle: { type: 'string', default: '60' },
    load: { type: 'string', default: '30' },
    clients: { type: 'string', default: '100' },
    ...startOnlyOption,
  },
})
const wholeNumber = (name: 'starts' | 'idle' | 'load' | 'clients'): number => {
  const n = Number(values[name])
  if (!Number.isSafeInteger(n) || n < 1) throw new Error(`--${name} must be a whole number from 1`)
  return n
}
const [starts, idleSeconds, loadSeconds] = [wholeNumber('starts'), wholeNumber('idle'), wholeNumber('load')]
const clients = wholeNumber('clients')

/** A tree of sources, and the folder of its database. */
type Tree = { name: string; folder: string; dataDir: string; firstRunFile: string }

type Running = { url: string; readyMs: number; stop(): Promise<void> }

const stopProcess = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

/** Runs `npm start` and waits until the service is ready. */
const start = async ({ name, folder, dataDir, firstRunFile }: Tree): Promise<Running> => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const { PATH, HOME, TMPDIR } = process.env
  const startedAt = performance.now()
  const child = spawn('npm', ['start', '--silent'], {
    cwd: folder,
    env: {
      PATH,
      HOME,
      TMPDIR,
      DATA_DIR: dataDir,
      FIRST_RUN_FILE: firstRunFile,
      HOST: '127.0.0.1',
      PORT: String(port),
      LOG_LEVEL: 'warn',
      RATE_LIMITER: 'off',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`the service of ${name} exited: ${errors}`)
    return fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    )
  }
  await until(`the service of ${name} is ready`, isReady, 300_000)
  return { url, readyMs: performance.now() - startedAt, stop: () => stopProcess(child) }
}

/** Beyond every limit of the organisation, so that the load is what the machine can take. */
const liftLimits = async ({ dataDir }: Tree): Promise<void> => {
  const client = new pg.Client((await findEmbedded(dataDir)) ?? '')
  await client.connect()
  await client
    .query('update orgs set email_monthly = 1000000000000, rate_limit_per_minute = 1000000000')
    .finally(() => client.end())
}

const sendOf = (key: string): RequestShape => ({
  method: 'POST',
  path: '/api/v1/emails',
  headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
  body: JSON.stringify({
    from: 'Footprint <hello@example.test>',
    to: [`user${counterSlot}@example.com`],
    subject: 'A receipt',
    html: '<p>Thank you, <b>Ada</b>.</p>',
    text: 'Thank you, Ada.',
  }),
})

const sendUnderWatch = async (tree: Tree, { url }: Running): Promise<{ memory: Memory; perSecond: number }> => {
  await liftLimits(tree)
  const { keys } = JSON.parse(await readFile(tree.firstRunFile, 'utf8'))
  const load = startLoad()
  const stopWatch = watchPeaks(tree.dataDir)
  try {
    const measureMs = loadSeconds * 1_000
    const job = { port: Number(new URL(url).port), request: sendOf(keys.live), clients, warmMs: 0, measureMs }
    const { perSecond } = await load.run(job)
    return { memory: await stopWatch(), perSecond }
  } finally {
    await load.stop()
  }
}

const shown = (memory: Memory): string =>
  Object.entries(memory)
    .map(([name, mb]) => `${name} ${mb.toFixed(0)} MB`)
    .join(', ')

const print = (tree: Tree, what: string, figures: string): void => {
  process.stdout.write(`${tree.name.padEnd(10)} ${what.padEnd(24)} ${figures}\n`)
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`

/** Starts it once, reports, and stops it. */
const startOnce = async (tree: Tree, what: string): Promise<number> => {
  const running = await start(tree)
  const memory = await memoryOf(tree.dataDir)
  await running.stop()
  print(tree, what, `ready after ${seconds(running.readyMs)}; ${shown(memory)}`)
  return running.readyMs
}

const measureMemory = async (tree: Tree): Promise<void> => {
  const running = await start(tree)
  try {
    await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1_000))
    print(tree, `idle for ${idleSeconds} s`, shown(await memoryOf(tree.dataDir)))
    const { memory, perSecond } = await sendUnderWatch(tree, running)
    print(tree, `${clients} clients send`, `${shown(memory)}; ${perSecond.toFixed(0)} per second`)
  } finally {
    await running.stop()
  }
}

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

const work = await mkdtemp(join(tmpdir(), 'tidings-footprint-'))
// The embedded database may run as another user, who must be able to enter the folder.
await chmod(work, 0o755)

const makeTree = async (name: string, folder: string): Promise<Tree> => {
  const own = join(work, name.replaceAll(/\W/g, '_'))
  await mkdir(own)
  return { name, folder, dataDir: join(own, 'data'), firstRunFile: join(own, 'first.json') }
}

const findTrees = async (): Promise<Tree[]> => {
  const present = await makeTree('present', presentRelease)
  if (values.against === undefined) return [present]
  const extracted = await extractRelease(values.against, join(work, 'sources'))
  if ('skipped' in extracted) throw new Error(extracted.skipped)
  return [await makeTree(values.against, extracted.folder), present]
}

const measure = async (trees: Tree[]): Promise<void> => {
  for (const tree of trees) await startOnce(tree, 'first start')
  const times = trees.map((): number[] => [])
  for (let n = 2; n < starts + 2; n++) {
    for (const [i, tree] of trees.entries()) times[i]?.push(await startOnce(tree, `start ${n}`))
  }
  for (const [i, tree] of trees.entries()) print(tree, `median of ${starts} starts`, seconds(median(times[i] ?? [])))
  for (const tree of trees) await measureMemory(tree)
}

try {
  const trees = await findTrees()
  if (values['start-only']) {
    const running = await start(trees.at(-1) as Tree)
    await running.stop()
    sayStarted('the service, with npm start')
  } else await measure(trees)
} finally {
  await rm(work, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
}
