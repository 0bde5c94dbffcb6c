/** `npm run drill -- failover`: breaks a cluster under load and counts what was lost. */
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sayStarted, startOnlyOption } from '../../scripts/start-only.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { mountDisk, unmountDisk } from './disks.ts'
import { type Fault, faults } from './faults.ts'
import { type DrillLoad, startLoad } from './load.ts'
import { homeOf, nodeNumbers } from './nodes.ts'
import { assertInstalled, missingPackages } from './packages.ts'
import { type DrillServices, startServices } from './processes.ts'
import { killIn } from './programs.ts'
import { pause, print, stopDrill, stopping, waitUntil } from './progress.ts'
import {
  failuresOf,
  longestGap,
  type Outcome,
  type Phase,
  refusalsByCode,
  reportLines,
  tallyPhases,
  wrongAnswers,
} from './tally.ts'

const usage = `npm run drill -- failover [--only FAULT] [--keep]

  --only FAULT  runs one fault: ${faults.map(({ id }) => id).join(', ')}
  --keep        keeps the logs of all programs`

type Options = { chosen: Fault[]; keep: boolean; startOnly: boolean }

/** A folder with a small disk for each node, and whether the disks could be mounted. */
const makeFolder = async (undo: AsyncDisposableStack, keep: boolean): Promise<{ folder: string; disks: boolean }> => {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-drill-'))
  undo.defer(async () => {
    if (keep) print(`the logs are in ${folder}`)
    else await rm(folder, { recursive: true, force: true })
  })
  // Programs run as another user.
  await chmod(folder, 0o755)
  let disks = true
  for (const n of nodeNumbers) {
    const home = homeOf(folder, n)
    await mkdir(home)
    if (disks) disks = await mountDisk(home)
    if (disks) undo.defer(() => unmountDisk(home))
  }
  undo.defer(() => killIn(folder))
  return { folder, disks }
}

type Broken = { cluster: Cluster; load: DrillLoad; from: number }

const runFault = async (fault: Fault, { cluster, load, from }: Broken): Promise<Phase & { lost: string[] }> => {
  print(`--- ${fault.name}`)
  const lost = await fault.run(cluster)
  const healed = Date.now()
  await waitUntil('sends have a rate limit again', () => load.limitedAt > healed)
  await pause(3_000)
  const phase = { name: fault.name, from, to: Date.now() }
  const at = load.acknowledged.map((one) => one.at)
  print(
    `${fault.name}: ${longestGap(at, phase).toFixed(1)} s without an accepted send, ${at.length} acknowledged so far`,
  )
  return { ...phase, lost }
}

const maxSettleMs = 8 * 60_000

/** Waits until no message is due or claimed, and returns the ids of those that were sent, and sent perhaps again. */
const untilSettled = async (cluster: Cluster): Promise<Pick<Outcome, 'storedAsSent' | 'marked'>> => {
  const unsettled = async (): Promise<number> => {
    const [row] = await cluster.sql<{ n: number }>(
      "select count(*)::int as n from messages where status in ('scheduled', 'sending')",
    )
    return row?.n ?? 0
  }
  print('waiting until every message is sent; claims of interrupted workers become stale after five minutes')
  await waitUntil('every message is sent', async () => (await unsettled().catch(() => 1)) === 0, maxSettleMs)
  const rows = await cluster.sql<{ id: string; marked: boolean }>(
    `select id, history::text like '%earlier attempt was interrupted%' as marked from messages where status = 'sent'`,
  )
  return {
    storedAsSent: new Set(rows.map(({ id }) => id)),
    marked: new Set(rows.filter(({ marked }) => marked).map(({ id }) => id)),
  }
}

type Settled = Awaited<ReturnType<typeof untilSettled>>

const report = (phases: Phase[], load: DrillLoad, services: DrillServices, settled: Settled): string[] => {
  const { acknowledged, unanswered, refused, unlimited, unfinished } = load
  const { handedOver } = services
  const tallies = tallyPhases(phases, { acknowledged, handedOver, ...settled })
  process.stdout.write(`\n${reportLines(tallies).join('\n')}\n\n`)
  const counts = JSON.stringify(refusalsByCode(refused))
  print(`not answered ${unanswered}, refused ${counts}, accepted without a rate limit ${unlimited}`)
  return [
    ...failuresOf(tallies),
    ...unfinished.map((reference) => `${reference} was repeated and never acknowledged`),
    ...wrongAnswers(refused, { acknowledged, handedOver }),
  ]
}

const drill = async (undo: AsyncDisposableStack, { chosen, keep }: Options): Promise<string[]> => {
  assertInstalled()
  const { folder, disks } = await makeFolder(undo, keep)
  const cluster = await startCluster(folder)
  print('three PostgreSQL nodes run')
  const services = await startServices({ cluster, folder })
  undo.defer(() => services.closeRelay())
  print('two API processes and two workers run')
  const begin = Date.now()
  const load = startLoad(services)
  undo.defer(() => load.stop())
  await waitUntil('sends are acknowledged', () => load.acknowledged.length > 200)
  const phases: Phase[] = [{ name: 'before the first fault', from: begin, to: Date.now() }]
  const lost: string[] = []
  for (const fault of chosen) {
    if (fault.needsDisk && !disks) {
      print(`${fault.name}: skipped, because only root can mount a small disk`)
      continue
    }
    const phase = await runFault(fault, { cluster, load, from: phases.at(-1)?.to as number })
    phases.push(phase)
    lost.push(...phase.lost.map((what) => `${fault.name}: ${what} is lost`))
  }
  await load.stop()
  phases.push({ name: 'after the last fault', from: phases.at(-1)?.to as number, to: Date.now() })
  return [...lost, ...report(phases, load, services, await untilSettled(cluster))]
}

/** Undefined if the arguments are not those of the drill. */
const readOptions = (): Options | undefined => {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { only: { type: 'string' }, keep: { type: 'boolean', default: false }, ...startOnlyOption },
    })
    const chosen = faults.filter(({ id }) => values.only === undefined || id === values.only)
    if (positionals.join(' ') !== 'failover' || chosen.length === 0) return undefined
    return { chosen, keep: values.keep, startOnly: values['start-only'] }
  } catch {
    return undefined
  }
}

const main = async (): Promise<number> => {
  const options = readOptions()
  if (!options) {
    process.stdout.write(`${usage}\n`)
    return 1
  }
  if (options.startOnly) {
    const missing = missingPackages()
    const packages = missing.length === 0 ? 'every package is installed' : `missing packages: ${missing.join(' ')}`
    sayStarted(`${options.chosen.length} faults; ${packages}`)
    return 0
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopDrill(signal))
  const undo = new AsyncDisposableStack()
  try {
    const failures = await drill(undo, options)
    for (const failure of failures.slice(0, 20)) print(failure)
    print(failures.length === 0 ? 'passed' : `failed: ${failures.length} failures`)
    return failures.length === 0 ? 0 : 1
  } catch (error) {
    const cause = stopping.aborted ? stopping.reason : error
    print(cause instanceof Error ? cause.message : String(cause))
    return stopping.aborted ? 130 : 1
  } finally {
    print('ending every process and unmounting the disks')
    await undo.disposeAsync()
  }
}

// Requests and connections of the drill itself may still be open.
process.exit(await main())
