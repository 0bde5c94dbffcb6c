/**
 * `npm run -s costs`: what a send costs, by part of the program and by statement. With `--against <commit>`, another
 * commit is measured in the same run, in turns.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Load, startLoad } from '../../bench/load.ts'
import { counterSlot, type RequestShape } from '../../bench/wire.ts'
import { sayStarted, startOnlyOption } from '../../scripts/start-only.ts'
import { extractRelease, presentRelease } from '../upgrade/previous-release.ts'
import { type DatabaseUse, type MeasuredDatabase, type MeasuredServer, startMeasuredServer } from './database.ts'
import { type ByPart, bytesByPart, timeByFunction, timeByPart } from './parts.ts'
import { type Subject, startSubject } from './subject.ts'
import { type Costs, costTables } from './table.ts'

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    clients: { type: 'string', default: '100' },
    'per-request': { type: 'string', default: '1' },
    rounds: { type: 'string' },
    functions: { type: 'string', default: '0' },
    worker: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    ...startOnlyOption,
  },
})
const wholeNumber = (name: string, text: string, from = 1): number => {
  const n = Number(text)
  if (!Number.isSafeInteger(n) || n < from) throw new Error(`--${name} must be a whole number from ${from}`)
  return n
}
const clients = wholeNumber('clients', values.clients)
const perRequest = wholeNumber('per-request', values['per-request'])
const rounds = wholeNumber('rounds', values.rounds ?? (values.quick ? '1' : '5'))
/** With `--worker`, what is shown by part and by function is the worker's. */
const profiled = values.worker ? 'worker' : 'api'
const functions = wholeNumber('functions', values.functions, 0)
const pace = values.quick ? { warmUpMs: 3_000, turnMs: 2_000 } : { warmUpMs: 10_000, turnMs: 5_000 }

type Measured = { subject: Subject; database: MeasuredDatabase }

/** One turn of a subject. */
type Turn = {
  sends: number
  perSecond: number
  parts: ByPart
  functions: ByPart
  apiMs: number
  workerMs: number
  use: DatabaseUse
}

const progress = (line: string) => process.stderr.write(`${line}\n`)

const mail = (n: number) => ({
  from: 'Bench <hello@example.test>',
  to: [`user${counterSlot}-${n}@example.com`],
  subject: 'A receipt',
  html: '<p>Thank you, <b>Ada</b>.</p>',
  text: 'Thank you, Ada.',
  tags: ['receipt'],
  metadata: { order: '42' },
})

const sendOf = ({ key }: Subject): RequestShape => ({
  method: 'POST',
  path: perRequest === 1 ? '/api/v1/emails' : '/api/v1/emails/batch',
  headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
  body: JSON.stringify(perRequest === 1 ? mail(0) : Array.from({ length: perRequest }, (_, n) => mail(n))),
})

const sendFor = async (load: Load, subject: Subject, measureMs: number) => {
  const job = { port: Number(new URL(subject.url).port), request: sendOf(subject), clients, warmMs: 0, measureMs }
  const { requests, perSecond } = await load.run(job)
  return { sends: requests * perRequest, perSecond: perSecond * perRequest }
}

const takeTurn = async (load: Load, { subject, database }: Measured): Promise<Turn> => {
  await database.begin()
  const cpuBefore = await subject.cpuMs()
  await subject.startCpu()
  const { sends, perSecond } = await sendFor(load, subject, pace.turnMs)
  const profile = await subject.stopCpu()
  const cpuApi = (await subject.cpuMs()).api
  // The worker may still have work of these sends to do.
  const use = await database.end()
  const cpuWorker = (await subject.cpuMs()).worker
  const [apiMs, workerMs] = [cpuApi - cpuBefore.api, cpuWorker - cpuBefore.worker]
  progress(`${subject.name}: ${sends} sends, ${perSecond.toFixed(0)} per second`)
  return { sends, perSecond, parts: timeByPart(profile), functions: timeByFunction(profile), apiMs, workerMs, use }
}

const allocations = async (load: Load, { subject }: Measured): Promise<ByPart> => {
  await subject.startHeap()
  const { sends } = await sendFor(load, subject, pace.turnMs / 2)
  const { head } = await subject.stopHeap()
  return perSend(bytesByPart(head), sends)
}

const perSend = (counts: Record<string, number>, sends: number): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([name, n]) => [name, n / sends]))

const addUp = (all: Record<string, number>[]): Record<string, number> => {
  const sums: Record<string, number> = {}
  for (const counts of all) for (const [name, n] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + n
  return sums
}

const median = (numbers: number[]): number => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

/** The sums over all turns, per send. */
const costsOf = (name: string, turns: Turn[], bytes: ByPart): Costs => {
  const sends = turns.reduce((total, turn) => total + turn.sends, 0)
  const per = (of: (turn: Turn) => number) => turns.reduce((total, turn) => total + of(turn), 0) / sends
  const statements = turns.flatMap(({ use }) =>
    use.statements.map(({ text, calls, ms, walBytes }) => ({
      text,
      calls: calls / sends,
      ms: ms / sends,
      walBytes: walBytes / sends,
    })),
  )
  return {
    name,
    perSecond: median(turns.map(({ perSecond }) => perSecond)),
    parts: perSend(addUp(turns.map(({ parts }) => parts)), sends),
    functions: perSend(addUp(turns.map((turn) => turn.functions)), sends),
    apiUs: per(({ apiMs }) => apiMs * 1_000),
    workerUs: per(({ workerMs }) => workerMs * 1_000),
    databaseUs: per(({ use }) => use.cpuMs * 1_000),
    walBytes: per(({ use }) => use.walBytes),
    storedBytes: per(({ use }) => use.storedBytes),
    commits: per(({ use }) => use.commits),
    rows: perSend(addUp(turns.map(({ use }) => use.rows)), sends),
    statements,
    bytes,
  }
}

const startTree = async (server: MeasuredServer, name: string, folder: string, work: string): Promise<Measured> => {
  const database = await server.create(name)
  const subject = await startSubject({ name, folder, databaseUrl: database.url, workFolder: work, profiled })
  await database.lift()
  return { subject, database }
}

const measure = async (all: Measured[]): Promise<Costs[]> => {
  const load = startLoad()
  try {
    for (const { subject } of all) await sendFor(load, subject, pace.warmUpMs)
    const turns = all.map((): Turn[] => [])
    for (let round = 0; round < rounds; round++) {
      progress(`round ${round + 1} of ${rounds}`)
      const order = all.map((_, i) => i)
      for (const i of round % 2 === 0 ? order : order.reverse())
        turns[i]?.push(await takeTurn(load, all[i] as Measured))
    }
    const costs: Costs[] = []
    for (const [i, measured] of all.entries()) {
      costs.push(costsOf(measured.subject.name, turns[i] ?? [], await allocations(load, measured)))
    }
    return costs
  } finally {
    await load.stop()
  }
}

const work = await mkdtemp(join(tmpdir(), 'tidings-costs-'))
// The embedded database may run as another user, who must be able to enter the folder.
await chmod(work, 0o755)
const server = await startMeasuredServer(work)
const started: Measured[] = []
try {
  if (values.against !== undefined) {
    const extracted = await extractRelease(values.against, join(work, 'against'))
    if ('skipped' in extracted) throw new Error(extracted.skipped)
    started.push(await startTree(server, values.against, extracted.folder, work))
  }
  started.push(await startTree(server, 'present', presentRelease, work))
  if (values['start-only']) sayStarted('the service, and a database that counts its statements')
  else {
    const title = `${perRequest} per request, ${clients} clients, ${rounds} rounds`
    process.stdout.write(`${title}\n\n${costTables(await measure(started), functions).join('\n')}\n`)
  }
} finally {
  await Promise.all(started.map(({ subject }) => subject.stop()))
  await server.stop()
  await rm(work, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
}
