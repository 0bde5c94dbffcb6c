/** What a child process shares with the other processes of the service, through the primary. */
import cluster from 'node:cluster'
import { openWire } from './process-wire.ts'
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

/** Called in a child process. Resolves once the primary has answered. */
export const joinPrimary = async () => {
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
  wire.on('metrics', () => readMetrics?.())
  const assignment = await wire.ask<Assignment>('join')
  if (!assignment) throw new Error(`the primary of process ${cluster.worker?.id} has ended`)

  const peers = {
    limiter: makeSharedLimiter(wire),
    marks: makeSharedMarks(wire),
    /** Processes of one group see each other's marks. */
    group: assignment.group,
    /** Whether a process runs the worker. True when the primary runs none, as in `tidings api`. */
    workersRun: (): boolean => workersRun,
    /** The sums over all processes. */
    metricsText: async (): Promise<string> => (await wire.ask<string>('sums')) ?? '',
    provideMetrics: (read: () => Promise<ProcessMetrics>): void => {
      readMetrics = read
    },
    /** Moves the development clocks of all other processes. Resolves when they have moved. */
    shareOffset: async (offsetMs: number): Promise<void> => {
      await wire.ask('share-offset', offsetMs)
    },
    followOffset: (move: (offsetMs: number) => void): void => wire.on('offset', move),
    /** Codes that the local providers of the other processes have in memory, as JSON texts. */
    otherCodes: async (): Promise<string[]> => (await wire.ask<string[]>('other-codes')) ?? [],
    provideCodes: (read: () => Promise<string[]>): void => wire.on('codes', read),
  }
  return {
    peers,
    assignment,
    /** Resolves with the first order of one of these kinds. */
    ordered: (kinds: readonly StopOrder[]): Promise<StopOrder> =>
      new Promise((resolve) => {
        const listen = (order: StopOrder): void => {
          if (kinds.includes(order)) resolve(order)
        }
        orders.forEach(listen)
        listeners.add(listen)
      }),
    /** The first API process prints the greeting, when the primary asks for it. True: it is printed. */
    onGreet: (print: () => Promise<boolean>): void => wire.on('greet', print),
    /** Reports that this process serves. An API process reports its port. */
    running: (port?: number): void => wire.notify('running', port),
    /** Sends the last metrics, so that the sums keep them. */
    leave: async (): Promise<void> => {
      const last = await readMetrics?.().catch(() => undefined)
      if (last) await wire.ask('last-metrics', last)
    },
  }
}

export type JoinedProcess = Awaited<ReturnType<typeof joinPrimary>>
export type Peers = JoinedProcess['peers']
