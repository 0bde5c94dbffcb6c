/** Runs a bench: contenders run in turns, each server in its own process. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { BenchDatabase } from './database.ts'
import { roundOrder } from './figures.ts'
import type { Load } from './load.ts'
import { watchMachine } from './machine.ts'
import type { Outcome, Row, Sample, Target } from './results.ts'
import type { FromServer } from './servers/serve.ts'
import { programIn, type Tree } from './tree.ts'
import type { RequestShape } from './wire.ts'
import type { Workers } from './workers.ts'

/** The resources that the harness provides to the contenders of a bench. */
export type Resources = {
  load: Load
  /** A folder that is deleted after the run. */
  folder: string
  /** Set for a short run, which only checks that everything works: large tables are small. */
  quick: boolean
  /** A database on the server of the run: the bench's own, or a named one if contenders must not share tables. */
  database(name?: string): Promise<BenchDatabase>
  /** The sources of the service's programs. */
  tree: Tree
  workers: Workers
}

export type Turn = { clients: number; warmMs: number; measureMs: number; warmUp?: boolean }

export type Skipped = { skipped: string }

export type Running = {
  take(turn: Turn): Promise<Sample | Skipped>
  stop(): Promise<void>
}

export type Contender = {
  name: string
  /** Set if it is a program of the service, so that the same program of another commit can be measured too. */
  ofTree?: boolean
  start(resources: Resources): Promise<Running | Skipped>
}

export type Bench = {
  name: string
  about: string
  clients: number[]
  baseline: string
  contenders: Contender[]
  targets: Target[]
  /** Overrides the rounds of a full run, if the turns of one contender vary more than the difference to be measured. */
  rounds?: number
  /** The commit whose contenders are measured too. */
  against?: string
}

export type Pace = { rounds: number; warmMs: number; measureMs: number; warmUpMs: number }

/** The warm-up lasts until the JIT compiler stops improving the longest path, that of a send. */
export const fullPace: Pace = { rounds: 3, warmMs: 500, measureMs: 2000, warmUpMs: 8000 }
export const quickPace: Pace = { rounds: 1, warmMs: 200, measureMs: 800, warmUpMs: 1000 }

/** Long enough for a server to finish the background work of its last requests before the next one is measured. */
const settleMs = 150
const warmUpClients = 50

export type BenchRun = {
  bench: Bench
  resources: Resources
  pace: Pace
  /** Prints a line of progress. */
  report: (line: string) => void
  signal: AbortSignal
}

export const runBench = async ({ bench, resources, pace, report, signal }: BenchRun): Promise<Outcome> => {
  const rounds = (!resources.quick && bench.rounds) || pace.rounds
  const running = new Map<string, Running>()
  let otherWork: string[] = []
  let busyTurns = 0
  const rows: Row[] = bench.clients.flatMap((clients) =>
    bench.contenders.map(({ name }): Row => ({ contender: name, clients, samples: [] })),
  )
  try {
    for (const contender of bench.contenders) {
      signal.throwIfAborted()
      const started = await contender.start(resources)
      if ('skipped' in started) {
        report(`${bench.name}: ${contender.name} skipped: ${started.skipped}`)
        for (const row of rows) if (row.contender === contender.name) row.skipped = started.skipped
        continue
      }
      running.set(contender.name, started)
      await resources.workers.untilDone()
      await started.take({ clients: warmUpClients, warmMs: 0, measureMs: pace.warmUpMs, warmUp: true })
    }
    const othersSince = watchMachine()
    for (const clients of bench.clients) {
      for (let round = 0; round < rounds; round++) {
        const turns = rows.filter((row) => row.clients === clients && !row.skipped)
        for (const row of roundOrder(turns, round)) {
          signal.throwIfAborted()
          if (!(await resources.workers.untilDone())) busyTurns++
          await pause(settleMs)
          const sample = await running
            .get(row.contender)!
            .take({ clients, warmMs: pace.warmMs, measureMs: pace.measureMs })
            .catch((cause: unknown) => {
              throw new Error(`${bench.name}: ${row.contender}@${clients} failed`, { cause })
            })
          const label = `${bench.name} round ${round + 1}/${rounds}: ${row.contender}@${clients}`
          if ('skipped' in sample) {
            row.skipped = sample.skipped
            report(`${label} skipped: ${sample.skipped}`)
            continue
          }
          row.samples.push(sample)
          report(`${label} ${describeSample(sample)}`)
        }
      }
    }
    otherWork = othersSince()
  } finally {
    // A server that does not exit cleanly is reported, but its figures stay valid.
    const ends = await Promise.allSettled([...running.values()].map((contender) => contender.stop()))
    for (const end of ends) if (end.status === 'rejected') report(`${bench.name}: ${end.reason}`)
  }
  const { name, about, baseline, targets, against } = bench
  const ofSamples = rows.flatMap(({ samples }) => samples.flatMap((sample) => sample.notes ?? []))
  const rounded = rounds === pace.rounds ? [] : [`${rounds} ${rounds === 1 ? 'round' : 'rounds'}`]
  const busy = busyTurns === 0 ? [] : [`the worker had not linked every audit entry before ${busyTurns} turns`]
  const notes = [...rounded, ...ofSamples, ...busy, ...otherWork]
  return { bench: name, about, baseline, targets, rows, notes, against }
}

const describeSample = ({ perSecond, p50Ms, p99Ms, rssMb, loadCpuShare }: Sample): string =>
  [
    `${perSecond.toFixed(0)}/s`,
    `p50 ${p50Ms.toFixed(3)} ms`,
    `p99 ${p99Ms.toFixed(3)} ms`,
    ...(rssMb === undefined ? [] : [`RSS ${rssMb.toFixed(0)} MB`]),
    ...(loadCpuShare === undefined ? [] : [`load generator ${(loadCpuShare * 100).toFixed(0)} % of a core`]),
  ].join(', ')

export type ServerSpec<Ready extends { port: number }> = {
  name: string
  /** A program that calls `serveBench`. */
  program: URL
  /** Plain data that is passed to the program. */
  params?: (resources: Resources) => Promise<object> | object
  /** The request of the bench, built from the data that the program reported when it was ready. */
  request: (ready: Ready) => RequestShape
  /** Set if the program runs the service. It then has the Node flags of `npm start`, and a worker if it needs one. */
  service?: 'with a worker' | 'without a worker'
  /** How many items one request processes, if more than one. Results count items. */
  weight?: number
  /** The minimum number of requests in a turn, however long they take. Ignored in a short run. */
  atLeast?: number
  /** Other work that the program does during a turn. Returns a function that ends it. */
  meanwhile?: (ready: Ready) => () => Promise<void>
}

export type ServiceSpec = { name: string; program: URL; params: object; worker: boolean }

/** Starts a program that runs the service, from the sources of the tree, with a worker in another process if needed. */
export const startService = async <Ready>(
  { tree, workers }: Resources,
  { name, program, params, worker }: ServiceSpec,
): Promise<StartedServer<Ready> | Skipped> => {
  const ofTree = programIn(tree, program)
  if (!ofTree) return { skipped: `${tree.name} has no ${basename(fileURLToPath(program))}` }
  if (worker && 'databaseUrl' in params) await workers.start(tree, String(params.databaseUrl))
  return startServer<Ready>(name, ofTree, params, tree.serviceFlags)
}

/** A contender that is an HTTP server in its own Node process, with the load of the harness. */
export const serverContender = <Ready extends { port: number }>({
  name,
  program,
  params,
  request,
  service,
  weight = 1,
  atLeast = 0,
  meanwhile,
}: ServerSpec<Ready>): Contender => ({
  name,
  ofTree: service !== undefined,
  async start(resources) {
    const given = (await params?.(resources)) ?? {}
    const server = service
      ? await startService<Ready>(resources, { name, program, params: given, worker: service === 'with a worker' })
      : await startServer<Ready>(name, program, given)
    if ('skipped' in server) return server
    const shape = request(server.ready)
    return {
      async take(turn) {
        const memory = watchMemory(server.pid)
        const endOther = meanwhile?.(server.ready)
        try {
          const load = () => resources.load.run({ port: server.ready.port, request: shape, ...turn })
          let done = await load()
          for (let made = done.requests; made < atLeast && !resources.quick; made += done.requests) done = await load()
          const { perSecond, p50Ms, p99Ms, cpuShare } = done
          return {
            perSecond: perSecond * weight,
            p50Ms,
            p99Ms,
            loadCpuShare: cpuShare,
            rssMb: await memory.peakMb(),
          }
        } finally {
          memory.stop()
          await endOther?.()
        }
      },
      stop: server.stop,
    }
  },
})

/** Long enough to fill a database with ten million events. */
const readyWithinMs = 3_600_000
const endWithinMs = 10_000

export type StartedServer<Ready> = {
  pid: number
  ready: Ready
  /** Sends the program a message and waits for its reply. */
  request<Answer>(message: object): Promise<Answer>
  stop(): Promise<void>
}

/** Parameters are passed in the environment, because every user of the machine can read command lines. */
export const startServer = async <Ready>(
  name: string,
  program: URL,
  params: object,
  flags: string[] = [],
): Promise<StartedServer<Ready>> => {
  const child = fork(fileURLToPath(program), {
    execPath: process.execPath,
    execArgv: flags,
    env: { ...process.env, BENCH_PARAMS: JSON.stringify(params) },
    // Standard output is reserved for the results.
    stdio: ['ignore', 2, 2, 'ipc'],
  })
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const ready = await Promise.race([
    once(child, 'message').then(([message]) => message as FromServer<Ready>),
    exited.then(([code, by]): FromServer<Ready> => ({ failed: `it exited with ${code ?? by}` })),
    pause(readyWithinMs, undefined, { ref: false }).then(
      (): FromServer<Ready> => ({ failed: `not ready within ${readyWithinMs} ms` }),
    ),
  ])
  if ('failed' in ready) {
    child.kill('SIGKILL')
    throw new Error(`${name} did not start: ${ready.failed}`)
  }
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const last = setTimeout(() => child.kill('SIGKILL'), endWithinMs)
    if (child.connected) child.disconnect()
    const [code, by] = await exited
    clearTimeout(last)
    if (code !== 0) throw new Error(`${name} did not exit cleanly: ${code ?? by}`)
  }
  const request = <Answer>(message: object): Promise<Answer> => {
    const answered = once(child, 'message').then(([answer]) => answer as Answer)
    child.send(message)
    return Promise.race([
      answered,
      exited.then(([code, by]) => Promise.reject(new Error(`${name} exited unexpectedly with ${code ?? by}`))),
    ])
  }
  return { pid: child.pid!, ready: ready.ready, request, stop }
}

const residentMb = async (pid: number): Promise<number | undefined> => {
  // Missing on other systems than Linux, and after the process has exited.
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
}

export const watchMemory = (pid: number) => {
  let peak: number | undefined
  const update = async () => {
    const now = await residentMb(pid)
    if (now !== undefined && now > (peak ?? 0)) peak = now
  }
  const timer = setInterval(update, 100)
  return {
    async peakMb() {
      await update()
      return peak
    },
    stop: () => clearInterval(timer),
  }
}
