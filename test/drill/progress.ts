/** What the drill prints while it waits, and how Ctrl-C ends each wait. */
import { setTimeout as sleep } from 'node:timers/promises'

const stop = new AbortController()

/** Aborted by Ctrl-C. */
export const stopping: AbortSignal = stop.signal

export const stopDrill = (signal: string): void => stop.abort(new Error(`stopped by ${signal}`))

const startedAt = performance.now()

export const print = (line: string): void => {
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  process.stdout.write(`${String(seconds).padStart(4)} s  ${line}\n`)
}

export const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal: stopping })

const reportEveryMs = 15_000

/** Polls until there is a result. Prints a line every 15 seconds, and throws at the end of `ms`. */
export const waitUntil = async <T>(
  what: string,
  found: () => T | undefined | Promise<T | undefined>,
  ms = 120_000,
): Promise<NonNullable<T>> => {
  const from = performance.now()
  for (let reports = 1; ; ) {
    stopping.throwIfAborted()
    const value = await found()
    if (value) return value
    const waited = performance.now() - from
    if (waited > ms) throw new Error(`${Math.round(ms / 1_000)} s have passed, but it is not so that ${what}`)
    if (waited > reports * reportEveryMs) {
      reports++
      print(`waiting until ${what}: ${Math.round(waited / 1_000)} s of at most ${Math.round(ms / 1_000)} s`)
    }
    await pause(250)
  }
}
