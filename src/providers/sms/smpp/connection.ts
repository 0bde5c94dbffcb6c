/** Keeps a connection to the message centre open, and opens it again after it was lost. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../../platform/ground/log.ts'
import type { SmppLink } from './link.ts'

export type Backoff = { firstMs: number; maxMs: number }

type Needs = {
  open: () => Promise<SmppLink>
  log: Log
  backoff: Backoff
  /** How long `link` waits. */
  waitMs: number
}

/** A link that ends sooner counts as a failure, so that a centre which drops every bind is not called in a loop. */
const steadyMs = 10_000

export const keepConnection = ({ open, log, backoff, waitMs }: Needs) => {
  const stopping = new AbortController()
  const waiters = new Set<(link: SmppLink | undefined) => void>()
  let current: SmppLink | undefined
  let failures = 0

  const settle = (link: SmppLink | undefined): void => {
    for (const done of waiters) done(link)
    waiters.clear()
  }

  const runOnce = async (): Promise<void> => {
    const link = await open()
    if (stopping.signal.aborted) return link.end()
    const openedAt = performance.now()
    current = link
    log.info({ provider: 'smpp' }, 'smpp bound')
    settle(link)
    await link.closed
    current = undefined
    if (stopping.signal.aborted) return
    log.warn({ provider: 'smpp' }, 'smpp connection lost')
    failures = performance.now() - openedAt < steadyMs ? failures + 1 : 0
  }

  const delay = (): number => {
    const longest = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(failures, 16))
    // Processes that lost their connections together do not come back together.
    return longest * (0.5 + Math.random() / 2)
  }

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await runOnce()
      } catch (error) {
        failures++
        settle(undefined)
        log.warn({ provider: 'smpp', reason: (error as Error).message }, 'smpp connection failed')
      }
      await pause(delay(), undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
    }
  }
  const running = run()

  return {
    /** The open link. Waits a moment for one that is being opened. Undefined when there is none. */
    link: async (): Promise<SmppLink | undefined> => {
      // After repeated failures the centre is down, and the next provider gets the message at once.
      if (current || failures > 1 || stopping.signal.aborted) return current
      return new Promise((resolve) => {
        const timer = setTimeout(() => done(undefined), waitMs)
        const done = (link: SmppLink | undefined) => {
          clearTimeout(timer)
          waiters.delete(done)
          resolve(link)
        }
        waiters.add(done)
      })
    },
    close: async (): Promise<void> => {
      stopping.abort()
      settle(undefined)
      await current?.end()
      await running
    },
  }
}
