/** What a child process shares with the other processes of the service, through the primary. */
import cluster from 'node:cluster'
import type { Limiter } from '../limits/limiter.ts'
import type { WriteMarks } from '../replica/write-marks.ts'
import { openWire, type ProcessWire } from './process-wire.ts'
import { makeSharedLimiter } from './shared-limiter.ts'
import { makeSharedMarks } from './shared-marks.ts'
import type { ProcessMetrics } from './sum-metrics.ts'

/** What the primary says to a new process. */
export type Assignment = {
  databaseUrl: string
  /** The bound one, once an API process listens. */
  port: number | undefined
  /** The same for all processes of this primary, and for no other. */
  group: string
}

export type StopOrder = 'stop' | 'stop now' | 'retire'

export type Peers = {
  limiter: Limiter
  marks: WriteMarks
  /** Processes of one group see each other's marks. */
  group: string
  /** Whether a process runs the worker. True when the primary runs none, as in `tidings api`. */
  workersRun(): boolean
  /** The sums over all processes. */
  metricsText(): Promise<string>
  provideMetrics(read: () => Promise<ProcessMetrics>): void
  /** Moves the development clocks of all other processes. Resolves when they have moved. */
  shareOffset(offsetMs: number): Promise<void>
  followOffset(move: (offsetMs: number) => void): void
  /** Codes that the local providers of the other processes have in memory, as JSON texts. */
  otherCodes(): Promise<string[]>
  provideCodes(read: () => Promise<string[]>): void
}

export type JoinedProcess = {
  peers: Peers
  assignment: Assignment
  /** Resolves with the first order of one of these kinds. */
  ordered(kinds: readonly StopOrder[]): Promise<StopOrder>
  /** The first API process prints the greeting, when the primary asks for it. True: it is printed. */
  onGreet(print: () => Promise<boolean>): void
  /** Reports that this process serves. An API process reports its port. */
  running(port?: number): void
  /** Sends the last metrics, so that the sums keep them. */
  leave(): Promise<void>
}

const makePeers = (wire: ProcessWire, workersRun: () => boolean): Omit<Peers, 'group'> => ({
  limiter: makeSharedLimiter(wire),
  marks: makeSharedMarks(wire),
  workersRun,
  metricsText: async () => (await wire.ask<string>('sums')) ?? '',
  provideMetrics: (read) => wire.on('metrics', read),
  shareOffset: async (offsetMs) => {
    await wire.ask('share-offset', offsetMs)
  },
  followOffset: (move) => wire.on('offset', move),
  otherCodes: async () => (await wire.ask<string[]>('other-codes')) ?? [],
  provideCodes: (read) => wire.on('codes', read),
})

/** Called in a child process. Resolves once the primary has answered. */
export const joinPrimary = async (): Promise<JoinedProcess> => {
  const wire = openWire({
    // A primary that has just ended takes this process with it.
    send: (message) => void process.send?.(message, undefined, undefined, () => undefined),
    onMessage: (listener) => void process.on('message', listener),
  })
  let workersRun = false
  wire.on('workers-run', (run: boolean) => {
    workersRun = run
  })
  const orders: StopOrder[] = []
  const listeners = new Set<(order: StopOrder) => void>()
  wire.on('order', (order: StopOrder) => {
    orders.push(order)
    for (const listener of listeners) listener(order)
  })
  let readMetrics: (() => Promise<ProcessMetrics>) | undefined
  const peers = makePeers(wire, () => workersRun)
  const assignment = await wire.ask<Assignment>('join')
  if (!assignment) throw new Error(`the primary of process ${cluster.worker?.id} has ended`)
  return {
    peers: {
      ...peers,
      group: assignment.group,
      provideMetrics: (read) => {
        readMetrics = read
        peers.provideMetrics(read)
      },
    },
    assignment,
    ordered: (kinds) =>
      new Promise((resolve) => {
        const listen = (order: StopOrder): void => {
          if (kinds.includes(order)) resolve(order)
        }
        orders.forEach(listen)
        listeners.add(listen)
      }),
    onGreet: (print) => wire.on('greet', print),
    running: (port) => wire.notify('running', port),
    leave: async () => {
      const last = await readMetrics?.().catch(() => undefined)
      if (last) await wire.ask('last-metrics', last)
    },
  }
}
