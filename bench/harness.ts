/** Runs a bench: contenders side by side, taking turns, each server in a process of its own. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { BenchDatabase } from './database.ts'
import { median, roundOrder } from './figures.ts'
import type { Load } from './load.ts'
import type { Outcome, Row, Sample, Target } from './results.ts'
import type { FromServer } from './servers/serve.ts'
import type { RequestShape } from './wire.ts'

/** What the harness lends to the contenders of a bench. */
export type Ground = {
  load: Load
  /** A folder that is removed after the run. */
  folder: string
  /** Set for a short run, which only shows that everything works: large tables are made small. */
  quick: boolean
  /** A database on the one server of the run: the bench's own, or one under a name where tables must stay apart. */
  database(name?: string): Promise<BenchDatabase>
}

export type Turn = { clients: number; warmMs: number; measureMs: number }

export type Skipped = { skipped: string }

export type Running = {
  take(turn: Turn): Promise<Sample | Skipped>
  stop(): Promise<void>
}

export type Contender = {
  name: string
  start(ground: Ground): Promise<Running | Skipped>
}

export type Bench = {
  name: string
  about: string
  clients: number[]
  baseline: string
  contenders: Contender[]
  targets: Target[]
  /** Of a full run, where the turns of one contender differ by more than the figure that is looked for. */
  rounds?: number
}

export type Pace = { rounds: number; warmMs: number; measureMs: number; warmUpMs: number }

/** Warmed up for as long as the compiler goes on making the longest path, that of a send, faster. */
export const fullPace: Pace = { rounds: 3, warmMs: 500, measureMs: 2000, warmUpMs: 8000 }
export const quickPace: Pace = { rounds: 1, warmMs: 200, measureMs: 800, warmUpMs: 1000 }

/** Long enough for a server to finish what the last request left behind before another one is measured. */
const settleMs = 150
const warmUpClients = 50

export type Say = (line: string) => void

export const runBench = async (
  bench: Bench,
  ground: Ground,
  pace: Pace,
  say: Say,
  signal: AbortSignal,
): Promise<Outcome> => {
  const rounds = (!ground.quick && bench.rounds) || pace.rounds
  const running = new Map<string, Running>()
  const strangers: number[] = []
  const rows: Row[] = bench.clients.flatMap((clients) =>
    bench.contenders.map(({ name }): Row => ({ contender: name, clients, samples: [] })),
  )
  try {
    for (const contender of bench.contenders) {
      signal.throwIfAborted()
      const started = await contender.start(ground)
      if ('skipped' in started) {
        say(`${bench.name}: ${contender.name} skipped: ${started.skipped}`)
        for (const row of rows) if (row.contender === contender.name) row.skipped = started.skipped
        continue
      }
      running.set(contender.name, started)
      await started.take({ clients: warmUpClients, warmMs: 0, measureMs: pace.warmUpMs })
    }
    for (const clients of bench.clients) {
      for (let round = 0; round < rounds; round++) {
        const turns = rows.filter((row) => row.clients === clients && !row.skipped)
        for (const row of roundOrder(turns, round)) {
          signal.throwIfAborted()
          strangers.push(await busyWhile(pause(settleMs)))
          const sample = await running
            .get(row.contender)!
            .take({ clients, warmMs: pace.warmMs, measureMs: pace.measureMs })
            .catch((cause: unknown) => {
              throw new Error(`${bench.name}: ${row.contender}@${clients} failed`, { cause })
            })
          const label = `${bench.name} round ${round + 1}/${rounds}: ${row.contender}@${clients}`
          if ('skipped' in sample) {
            row.skipped = sample.skipped
            say(`${label} skipped: ${sample.skipped}`)
            continue
          }
          row.samples.push(sample)
          say(`${label} ${describeSample(sample)}`)
        }
      }
    }
  } finally {
    // A server that ends badly is worth a word, but not the figures it gave.
    const ends = await Promise.allSettled([...running.values()].map((contender) => contender.stop()))
    for (const end of ends) if (end.status === 'rejected') say(`${bench.name}: ${end.reason}`)
  }
  const { name, about, baseline, targets } = bench
  const notes = [...(rounds === pace.rounds ? [] : [`${rounds} rounds`]), ...strangersNote(strangers)]
  return { bench: name, about, baseline, targets, rows, notes }
}

/** The share of the whole machine that was at work meanwhile. */
const busyWhile = async (wait: Promise<void>): Promise<number> => {
  const read = () => {
    const times = cpus().map((core) => core.times)
    const idle = times.reduce((sum, core) => sum + core.idle, 0)
    return { idle, all: times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, idle) }
  }
  const before = read()
  await wait
  const after = read()
  const all = after.all - before.all
  return all > 0 ? 1 - (after.idle - before.idle) / all : 0
}

/** Between turns all contenders are idle, so what is at work then is not ours and spoils the figures. */
const strangersNote = (shares: number[]): string[] => {
  const share = shares.length ? median(shares) : 0
  if (share < 0.1) return []
  return [`other work took ${(share * 100).toFixed(0)} % of the machine meanwhile: run it again on a quiet one`]
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
  /** Plain data handed to the program. */
  params?: (ground: Ground) => Promise<object> | object
  /** The one request of the bench, from what the program said when it was ready. */
  request: (ready: Ready) => RequestShape
  /** Flags of Node the program runs under. */
  flags?: string[]
  /** How many things one request does, where it is more than one: what is counted is them. */
  weight?: number
  /** At least so many requests a turn, however long they take; a short run makes do with the turn's own time. */
  atLeast?: number
}

/** A contender that is an HTTP server in a Node process of its own, under the harness's load. */
export const serverContender = <Ready extends { port: number }>({
  name,
  program,
  params,
  request,
  flags,
  weight = 1,
  atLeast = 0,
}: ServerSpec<Ready>): Contender => ({
  name,
  async start(ground) {
    const server = await startServer<Ready>(name, program, (await params?.(ground)) ?? {}, flags)
    const shape = request(server.ready)
    return {
      async take(turn) {
        const memory = watchMemory(server.pid)
        try {
          const load = () => ground.load.run({ port: server.ready.port, request: shape, ...turn })
          let done = await load()
          for (let made = done.requests; made < atLeast && !ground.quick; made += done.requests) done = await load()
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
        }
      },
      stop: server.stop,
    }
  },
})

/** Long enough to make a table of a million rows. */
const readyWithinMs = 600_000
const endWithinMs = 10_000

/** Parameters go through the environment, not the command line, which every user of the machine can read. */
export const startServer = async <Ready>(name: string, program: URL, params: object, flags: string[] = []) => {
  const child = fork(fileURLToPath(program), {
    execPath: process.execPath,
    execArgv: flags,
    env: { ...process.env, BENCH_PARAMS: JSON.stringify(params) },
    // Standard output belongs to the results.
    stdio: ['ignore', 2, 2, 'ipc'],
  })
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const ready = await Promise.race([
    once(child, 'message').then(([message]) => message as FromServer<Ready>),
    exited.then(([code, by]): FromServer<Ready> => ({ failed: `it ended with ${code ?? by}` })),
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
    if (code !== 0) throw new Error(`${name} did not end cleanly: ${code ?? by}`)
  }
  /** Hands the program a message and waits for the one it answers with. */
  const ask = <Answer>(message: object): Promise<Answer> => {
    const answered = once(child, 'message').then(([answer]) => answer as Answer)
    child.send(message)
    return Promise.race([
      answered,
      exited.then(([code, by]) => Promise.reject(new Error(`${name} ended unasked with ${code ?? by}`))),
    ])
  }
  return { pid: child.pid!, ready: ready.ready, ask, stop }
}

const residentMb = async (pid: number): Promise<number | undefined> => {
  // Absent off Linux and once the process has ended.
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
}

export const watchMemory = (pid: number) => {
  let peak: number | undefined
  const look = async () => {
    const now = await residentMb(pid)
    if (now !== undefined && now > (peak ?? 0)) peak = now
  }
  const timer = setInterval(look, 100)
  return {
    async peakMb() {
      await look()
      return peak
    },
    stop: () => clearInterval(timer),
  }
}
