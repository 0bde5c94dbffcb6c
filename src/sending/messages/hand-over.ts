/**
 * Hands the messages of a request to the provider. When no provider can take a message at the moment, it tries again
 * for a short time, so that a brief outage does not fail the request.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Handover, HandoverFault } from '../../providers/handover.ts'
import type { ChannelAdapter } from './channel-adapter.ts'
import type { Draft } from './draft.ts'
import { asHandoverFault, noProvider } from './rows.ts'

/** From the first fault of a request to its last attempt. */
const retryForMs = 10_000
const firstWaitMs = 100
const longestWaitMs = 1_000
/** How many requests of this process may wait for a provider. Each of them holds its message in memory. */
const mostRequestsWaiting = 200

export type HandOver<D extends Draft> = (draft: D) => Promise<Handover>

/**
 * Begins the handovers of one request, which share its time for retries.
 * @param deadline The time by which the request must end.
 */
export type BeginHandOver<D extends Draft> = (deadline?: number) => HandOver<D>

type Needs<D extends Draft> = {
  channel: Pick<ChannelAdapter<D>, 'handOver'>
  clock: Clock
  log: Log
  /** Waits in real time: moving the development clock ends the retries, not a single wait. */
  wait?: (milliseconds: number) => Promise<unknown>
  random?: () => number
  mostWaiting?: number
}

/** The message was certainly not sent, and the same attempt may succeed later. */
export const isTransient = ({ kind }: HandoverFault): boolean => kind === 'unavailable' || kind === 'throttled'

/** A fault of our own database: the request ends, like with any other such fault. */
const isOurs = ({ provider }: HandoverFault): boolean => provider === noProvider

export const makeBeginHandOver = <D extends Draft>(needs: Needs<D>): BeginHandOver<D> => {
  const { channel, clock, log, wait = pause, random = Math.random, mostWaiting = mostRequestsWaiting } = needs
  let requestsWaiting = 0

  /** Half of the wait is random, so that the requests of an outage do not retry in step. */
  const waitAfter = (retries: number): number =>
    Math.min(firstWaitMs * 2 ** retries, longestWaitMs) * (0.5 + random() / 2)

  return (deadline = Number.POSITIVE_INFINITY) => {
    let retryUntil: number | undefined
    let retrying = 0

    const enter = (): boolean => {
      if (retrying === 0 && requestsWaiting >= mostWaiting) return false
      if (retrying++ === 0) requestsWaiting++
      return true
    }
    const leave = (): void => {
      if (--retrying === 0) requestsWaiting--
    }

    /** The next attempt is expected to last as long as the one that began at `startedAt`. */
    const fits = (startedAt: number, waitMs: number): boolean => {
      const now = clock.millis()
      retryUntil ??= Math.min(now + retryForMs, deadline)
      return now + waitMs + (now - startedAt) <= retryUntil
    }

    const retry = async (draft: D, first: HandoverFault, firstStartedAt: number): Promise<Handover> => {
      let fault = first
      let startedAt = firstStartedAt
      for (let retries = 0; ; retries++) {
        const waitMs = waitAfter(retries)
        if (!fits(startedAt, waitMs)) throw fault
        await wait(waitMs)
        startedAt = clock.millis()
        try {
          const handover = await channel.handOver(draft)
          log.info({ message_id: draft.id, retries: retries + 1 }, 'message handed over after retries')
          return handover
        } catch (error) {
          if (error instanceof Failure) throw error
          fault = asHandoverFault(error)
          if (!isTransient(fault) || isOurs(fault)) throw fault
        }
      }
    }

    return async (draft) => {
      const startedAt = clock.millis()
      try {
        return await channel.handOver(draft)
      } catch (error) {
        if (error instanceof Failure) throw error
        const fault = asHandoverFault(error)
        if (!isTransient(fault) || isOurs(fault) || !enter()) throw fault
        try {
          return await retry(draft, fault, startedAt)
        } finally {
          leave()
        }
      }
    }
  }
}
