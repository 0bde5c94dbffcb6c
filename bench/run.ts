/** The benchmark command. Results go to standard output, progress to standard error. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sayStarted } from '../scripts/start-only.ts'
import { chooseBenches, comparedWith } from './against.ts'
import { analytics } from './analytics/analytics.ts'
import { type Arguments, readArguments, usage } from './arguments.ts'
import { csvImport } from './audiences/audiences.ts'
import { audit } from './audit/audit.ts'
import { audienceSend, dispatch } from './blasts/blasts.ts'
import { auditReads, browse, dashboard } from './dashboard/dashboard.ts'
import { type BenchDatabase, type DatabaseServer, startDatabaseServer } from './database.ts'
import { batch, email, memory, several, signIns } from './email/email.ts'
import { exports } from './exports/exports.ts'
import { type Bench, fullPace, quickPace, runBench } from './harness.ts'
import { startLoad } from './load.ts'
import { reads, scheduler } from './messages/messages.ts'
import { record } from './record/record.ts'
import { reserve } from './reserve/reserve.ts'
import { benchSection, keepComparisons, type Outcome, replaceSections, resultsFile, resultsOf } from './results.ts'
import { retention } from './retention/retention.ts'
import { smpp } from './smpp/smpp.ts'
import { sms, smsBatch } from './sms/sms.ts'
import { smtp } from './smtp/smtp.ts'
import { template } from './template/template.ts'
import { openTree, presentTree } from './tree.ts'
import { checkCodes, startCodes } from './verifications/verifications.ts'
import { claimWebhooks, deliverWebhooks, failingWebhooks, idleWebhooks } from './webhooks/webhooks.ts'
import { makeWorkers } from './workers.ts'

const benches: Bench[] = [
  record,
  dashboard,
  browse,
  auditReads,
  email,
  several,
  batch,
  smtp,
  memory,
  signIns,
  sms,
  smsBatch,
  startCodes,
  checkCodes,
  scheduler,
  reads,
  csvImport,
  analytics,
  exports,
  reserve,
  audit,
  template,
  smpp,
  deliverWebhooks,
  failingWebhooks,
  idleWebhooks,
  claimWebhooks,
  audienceSend,
  dispatch,
  retention,
]

const report = (line: string) => process.stderr.write(`${line}\n`)
const print = (line: string) => process.stdout.write(`${line}\n`)

/** The load generator, a folder, and the database server, which starts when a bench needs it. */
const openParts = async (undo: AsyncDisposableStack) => {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-bench-'))
  undo.defer(() => rm(folder, { recursive: true, force: true }))
  // The embedded database may run as another user, who must be able to enter the folder.
  await chmod(folder, 0o755)
  const load = startLoad()
  undo.defer(load.stop)

  let server: Promise<DatabaseServer> | undefined
  const databaseServer = () => {
    server ??= startDatabaseServer(folder, process.env.DATABASE_URL || undefined)
    return server
  }
  undo.defer(async () => (await server?.catch(() => undefined))?.stop())
  return { folder, load, databaseServer, used: () => server }
}

/** The benches of the run, with the contenders of the other commit if one is given. */
const readyBenches = async (chosen: Bench[], { against }: Arguments, folder: string): Promise<Bench[]> => {
  if (against === undefined) return chosen
  const tree = await openTree(against, join(folder, 'against'))
  return chosen.map((bench) => comparedWith(bench, tree))
}

const startParts = async (chosen: Bench[], wanted: Arguments): Promise<void> => {
  await using undo = new AsyncDisposableStack()
  const { folder, databaseServer } = await openParts(undo)
  const benches = await readyBenches(chosen, wanted, folder)
  const { about } = await databaseServer()
  sayStarted(`${benches.map(({ name }) => name).join(', ')} on ${about}`)
}

const runBenches = async (chosen: Bench[], wanted: Arguments, signal: AbortSignal): Promise<Outcome[]> => {
  const outcomes: Outcome[] = []
  await using undo = new AsyncDisposableStack()
  const { folder, load, databaseServer, used } = await openParts(undo)
  for (const bench of await readyBenches(chosen, wanted, folder)) {
    await using cleanup = new AsyncDisposableStack()
    const databases = new Map<string, Promise<BenchDatabase>>()
    const workers = makeWorkers(folder)
    const resources = {
      load,
      tree: presentTree,
      workers,
      folder,
      quick: wanted.quick,
      database: (name = '') => {
        const made = databases.get(name) ?? databaseServer().then((running) => running.create(`${bench.name}${name}`))
        databases.set(name, made)
        return made
      },
    }
    cleanup.defer(async () => {
      for (const made of databases.values()) await (await made.catch(() => undefined))?.drop()
    })
    // Before the databases are dropped.
    cleanup.defer(workers.stop)
    const pace = wanted.quick ? quickPace : fullPace
    const outcome = await runBench({ bench, resources, pace, report, signal }).catch((error: unknown): Outcome => {
      signal.throwIfAborted()
      // Keeps the figures of the other benches; the results show that this one failed.
      process.exitCode = 1
      const { name, about, baseline, targets, against } = bench
      return { bench: name, about, baseline, targets, against, rows: [], notes: [`failed: ${causes(error)}`] }
    })
    const server = await used()
    if (databases.size > 0 && server) outcome.notes.push(server.about)
    for (const note of outcome.notes) report(`${bench.name}: ${note}`)
    outcomes.push(outcome)
    if (wanted.json) for (const result of resultsOf(outcome)) print(JSON.stringify(result))
  }
  return outcomes
}

const main = async (args: string[]): Promise<void> => {
  const wanted = readArguments(
    args,
    benches.map(({ name }) => name),
  )
  if (wanted.help) return void print(usage)
  if (wanted.list) {
    for (const { name, about } of benches) print(`${name}: ${about}`)
    return
  }
  const chosen = chooseBenches(benches, wanted)
  if (wanted.startOnly) return startParts(chosen, wanted)
  const stopping = new AbortController()
  // The first signal stops cleanly after the current turn; a second one ends the process immediately.
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => stopping.abort(new Error(`stopped by ${name}`)))
  }
  const outcomes = await runBenches(chosen, wanted, stopping.signal)
  if (!wanted.json) print(outcomes.map(benchSection).join('\n\n'))
  const partial = wanted.only.length > 0 || wanted.against !== undefined
  if (wanted.quick || (partial && !wanted.save)) {
    report('RESULTS.md is unchanged: only a full run, or one with --save, writes it')
    return
  }
  const facts = {
    date: new Date(),
    nodeVersion: process.version,
    cores: availableParallelism(),
    command: ['npm run bench', ...(args.length ? ['--', ...args] : [])].join(' '),
    rounds: fullPace.rounds,
    measureMs: fullPace.measureMs,
  }
  const file = fileURLToPath(new URL('RESULTS.md', import.meta.url))
  const before = await readFile(file, 'utf8')
  const text = partial
    ? replaceSections(before, outcomes, facts)
    : keepComparisons(before, resultsFile(facts, outcomes))
  await writeFile(file, text)
  report('bench/RESULTS.md written')
}

const causes = (error: unknown): string =>
  error instanceof Error ? error.message + (error.cause === undefined ? '' : `: ${causes(error.cause)}`) : String(error)

try {
  await main(process.argv.slice(2))
} catch (error) {
  report(`bench: ${causes(error)}`)
  process.exitCode = 1
}
