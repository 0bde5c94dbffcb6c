/** The primary: starts the processes of the service, replaces those that end, and stops them together. */
import cluster from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../ground/log.ts'
import { type ProcessRole, type ServedProcess, startProcess } from './child-process.ts'
import type { StopOrder } from './peers.ts'
import { shareBetween } from './share-between.ts'

/** How many processes of each role run. */
export type ProcessPlan = Record<ProcessRole, number>

/** A process that ran for this long had no problem at its start, so its replacement starts at once. */
const stableMs = 30_000
const firstDelayMs = 500
const longestDelayMs = 30_000

/** A process that takes longer than this to stop hangs and is killed. It allows for the longest drain delay. */
const stopTimeoutMs = 60_000

/** A place for one process. While it is being replaced, the end of its present process needs no reaction. */
type Slot = {
  role: ProcessRole
  name: string
  current: ServedProcess
  failures: number
  startedAt: number
  replacing: boolean
}

type Needs = { plan: ProcessPlan; databaseUrl: string; drainDelayMs: number; log: Log }

const delayAfter = (failures: number): number =>
  failures === 0 ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** (failures - 1))

export const makeSupervisor = ({ plan, databaseUrl, drainDelayMs, log }: Needs) => {
  cluster.schedulingPolicy = cluster.SCHED_RR
  const slots: Slot[] = []
  const all = new Set<ServedProcess>()
  const port = (): number | undefined => slots.map(({ current }) => current.port()).find((bound) => bound !== undefined)
  const group = randomBytes(6).toString('hex')
  const shared = shareBetween({ all, assign: () => ({ databaseUrl, port: port(), group }) })
  let stopping: Exclude<StopOrder, 'retire'> | undefined
  let restarting: Promise<void> | undefined
  const stopped = new AbortController()

  const announceWorkers = (): void => {
    const run = plan.worker === 0 || [...all].some(({ role, isRunning }) => role === 'worker' && isRunning())
    for (const { wire } of all) wire.notify('workers-run', run)
  }

  const open = (role: ProcessRole, name: string): ServedProcess => {
    const started = startProcess(role, name, log)
    all.add(started)
    shared.connect(started)
    void started.running.then(announceWorkers)
    void started.ended.then(() => {
      all.delete(started)
      shared.forget(started)
      announceWorkers()
    })
    if (stopping) started.order(stopping)
    return started
  }

  const isLeft = (slot: Slot, watched: ServedProcess): boolean =>
    stopping !== undefined || slot.replacing || slot.current !== watched

  /** Watches the present process of a slot, and starts another one when it ends without having been replaced. */
  const watch = (slot: Slot): void => {
    const watched = slot.current
    void watched.ended.then(async ({ code, signal }) => {
      if (isLeft(slot, watched)) return
      slot.failures = performance.now() - slot.startedAt >= stableMs ? 0 : slot.failures + 1
      const delay = delayAfter(slot.failures)
      const { name, pid } = watched
      log.error({ name, pid, code, signal, replaced_in_ms: delay }, 'process ended, starting another')
      await wait(delay, undefined, { signal: stopped.signal }).catch(() => undefined)
      if (isLeft(slot, watched)) return
      begin(slot, open(slot.role, slot.name))
    })
  }

  const begin = (slot: Slot, started: ServedProcess): void => {
    slot.current = started
    slot.startedAt = performance.now()
    watch(slot)
  }

  const fill = (role: ProcessRole, number: number): Slot => {
    const name = `${role}-${number}`
    const slot = { role, name, current: open(role, name), failures: 0, startedAt: performance.now(), replacing: false }
    slots.push(slot)
    return slot
  }

  const fillAll = async (): Promise<boolean> => {
    const roles: ProcessRole[] = ['api', 'worker']
    const planned = roles.flatMap((role) => Array.from({ length: plan[role] }, (_, i) => ({ role, number: i + 1 })))
    // The first one alone: what prevents its start, such as a port in use, is reported once.
    const [first, ...others] = planned
    if (!first || !(await fill(first.role, first.number).current.running) || stopping) return false
    const rest = others.map(({ role, number }) => fill(role, number).current.running)
    return (await Promise.all(rest)).every(Boolean)
  }

  const leaveWithin = async (left: ServedProcess): Promise<void> => {
    const timer = setTimeout(left.kill, stopTimeoutMs + drainDelayMs)
    await left.ended
    clearTimeout(timer)
  }

  const replace = async (slot: Slot): Promise<boolean> => {
    const former = slot.current
    slot.replacing = true
    const started = open(slot.role, slot.name)
    const serves = await started.running
    slot.replacing = false
    if (!serves) {
      if (!stopping) log.error({ name: slot.name, pid: started.pid }, 'restart failed, the running processes stay')
      if (!stopping && !all.has(former)) begin(slot, open(slot.role, slot.name))
      return false
    }
    slot.failures = 0
    begin(slot, started)
    former.order('retire')
    await leaveWithin(former)
    log.info({ name: slot.name, former_pid: former.pid, pid: started.pid }, 'process replaced')
    return true
  }

  const replaceAll = async (): Promise<void> => {
    for (const slot of slots) if (stopping || !(await replace(slot))) return
    log.info('restart done')
  }

  return {
    /** Resolves when every process serves. Resolves with false if one of them ends before. */
    start: async (): Promise<boolean> => {
      if (!(await fillAll()) || stopping) return false
      const greeter = slots.find(({ role }) => role === 'api')
      if (greeter && !(await greeter.current.wire.ask<boolean>('greet'))) return false
      slots.forEach(watch)
      return true
    },
    /** The port that the API processes share, once one of them listens. */
    port,
    /** Replaces every process, one after the other. A new one serves before the old one leaves. */
    restart: (): Promise<void> => {
      restarting ??= replaceAll().finally(() => {
        restarting = undefined
      })
      return restarting
    },
    stop: (order: Exclude<StopOrder, 'retire'>): void => {
      stopping = order
      stopped.abort()
      for (const process of all) process.order(order)
    },
    /** Resolves when no process is left. */
    ended: async (): Promise<void> => {
      await Promise.all([...all].map(leaveWithin))
    },
  }
}
