/** Measures the pauses of the event loop: times in which the process answers nothing, because one piece of code runs. */
import { createHistogram } from 'node:perf_hooks'
import type { Log } from './log.ts'

/** A pause longer than this is counted and logged. */
export const longPauseMs = 250

const tickMs = 20

/** At most one line in this time, with the longest pause since the previous line. */
const logEveryMs = 10_000

/** The readings of a tick, in milliseconds. `cpu` is the processor time of this thread. */
type Tick = { at: number; cpu: number }

type Pause = { ms: number; cpuMs: number }

type Needs = { log: Pick<Log, 'warn'>; countLong: () => void }

/** A pause with little processor time means that the machine was busy or asleep, not that a request was expensive. */
export const makePauseRecorder = ({ log, countLong }: Needs, start: Tick) => {
  const delays = createHistogram()
  let previous = start
  let loggedAt = Number.NEGATIVE_INFINITY
  let unlogged: Pause[] = []
  let longest: Pause = { ms: 0, cpuMs: 0 }

  const logLongest = (now: number): void => {
    if (unlogged.length === 0 || now - loggedAt < logEveryMs) return
    const { ms, cpuMs } = unlogged.reduce((best, pause) => (pause.ms > best.ms ? pause : best))
    log.warn({ longest_ms: Math.round(ms), cpu_ms: Math.round(cpuMs), pauses: unlogged.length }, 'event loop paused')
    loggedAt = now
    unlogged = []
  }

  return {
    /** Reports that the loop ran a timer that is due every `tickMs`. */
    tick: (reading: Tick): void => {
      const ms = Math.max(0, reading.at - previous.at - tickMs)
      // In microseconds, because the histogram takes whole numbers from 1.
      delays.record(Math.max(1, Math.round(ms * 1_000)))
      const pause = { ms, cpuMs: reading.cpu - previous.cpu }
      if (ms > longest.ms) longest = pause
      if (ms > longPauseMs) {
        countLong()
        unlogged.push(pause)
      }
      previous = reading
      logLongest(reading.at)
    },
    /** The delays since the previous call, in seconds. `maxCpu` is the processor time of this thread during the longest. */
    takeWindow: () => {
      const p99 = delays.count === 0 ? 0 : delays.percentile(99) / 1e6
      const window = { max: longest.ms / 1e3, maxCpu: longest.cpuMs / 1e3, p99 }
      delays.reset()
      longest = { ms: 0, cpuMs: 0 }
      return window
    },
  }
}

const readTick = (): Tick => {
  const { user, system } = process.threadCpuUsage()
  return { at: performance.now(), cpu: (user + system) / 1_000 }
}

/** Starts to measure. `stop` ends it. */
export const watchEventLoop = (needs: Needs) => {
  const recorder = makePauseRecorder(needs, readTick())
  const timer = setInterval(() => recorder.tick(readTick()), tickMs).unref()
  return {
    takeWindow: () => {
      // A pause that has just ended counts even if its tick has not run yet.
      recorder.tick(readTick())
      return recorder.takeWindow()
    },
    stop: () => clearInterval(timer),
  }
}
