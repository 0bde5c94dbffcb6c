/** The benchmark command. Results go to standard output, progress to standard error. */

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Arguments, readArguments, usage } from './arguments.ts'
import { audit } from './audit/audit.ts'
import { type BenchDatabase, type DatabaseServer, startDatabaseServer } from './database.ts'
import { batch, email, memory } from './email/email.ts'
import { type Bench, fullPace, quickPace, runBench } from './harness.ts'
import { startLoad } from './load.ts'
import { reads, scheduler } from './messages/messages.ts'
import { record } from './record/record.ts'
import { reserve } from './reserve/reserve.ts'
import { benchSection, type Outcome, resultsFile, resultsOf } from './results.ts'
import { template } from './template/template.ts'
import { claimWebhooks, deliverWebhooks, idleWebhooks, sickWebhooks } from './webhooks/webhooks.ts'

const benches: Bench[] = [
  record,
  email,
  batch,
  memory,
  scheduler,
  reads,
  reserve,
  audit,
  template,
  deliverWebhooks,
  sickWebhooks,
  idleWebhooks,
  claimWebhooks,
]

const say = (line: string) => process.stderr.write(`${line}\n`)
const print = (line: string) => process.stdout.write(`${line}\n`)

const runBenches = async (chosen: Bench[], wanted: Arguments, signal: AbortSignal): Promise<Outcome[]> => {
  const outcomes: Outcome[] = []
  await using undo = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'tidings-bench-'))
  undo.defer(() => rm(folder, { recursive: true, force: true }))
  // The embedded database may run as another user, who has to be able to pass through.
  await chmod(folder, 0o755)
  const load = startLoad()
  undo.defer(load.stop)

  let server: Promise<DatabaseServer> | undefined
  const databaseServer = () => {
    server ??= startDatabaseServer(folder, process.env.DATABASE_URL || undefined)
    return server
  }
  undo.defer(async () => (await server?.catch(() => undefined))?.stop())

  for (const bench of chosen) {
    await using dropLater = new AsyncDisposableStack()
    const databases = new Map<string, Promise<BenchDatabase>>()
    const ground = {
      load,
      folder,
      quick: wanted.quick,
      database: (name = '') => {
        const made = databases.get(name) ?? databaseServer().then((it) => it.create(`${bench.name}${name}`))
        databases.set(name, made)
        return made
      },
    }
    dropLater.defer(async () => {
      for (const made of databases.values()) await (await made.catch(() => undefined))?.drop()
    })
    const outcome = await runBench(bench, ground, wanted.quick ? quickPace : fullPace, say, signal).catch(
      (error: unknown): Outcome => {
        signal.throwIfAborted()
        // The figures of the others are worth keeping; this one's absence is said where they stand.
        process.exitCode = 1
        const { name, about, baseline, targets } = bench
        return { bench: name, about, baseline, targets, rows: [], notes: [`failed: ${causes(error)}`] }
      },
    )
    if (databases.size > 0 && server) outcome.notes.push((await server).about)
    for (const note of outcome.notes) say(`${bench.name}: ${note}`)
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
  const chosen = wanted.only.length ? benches.filter(({ name }) => wanted.only.includes(name)) : benches
  const stopping = new AbortController()
  // The first asks for a clean end after the turn under way; the second is the system's, and immediate.
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => stopping.abort(new Error(`stopped by ${name}`)))
  }
  const outcomes = await runBenches(chosen, wanted, stopping.signal)
  if (!wanted.json) print(outcomes.map(benchSection).join('\n\n'))
  if (wanted.quick || wanted.only.length) {
    say('RESULTS.md is left as it is: only a full run of every bench writes it')
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
  await writeFile(fileURLToPath(new URL('RESULTS.md', import.meta.url)), resultsFile(facts, outcomes))
  say('bench/RESULTS.md written')
}

const causes = (error: unknown): string =>
  error instanceof Error ? error.message + (error.cause === undefined ? '' : `: ${causes(error.cause)}`) : String(error)

try {
  await main(process.argv.slice(2))
} catch (error) {
  say(`bench: ${causes(error)}`)
  process.exitCode = 1
}
