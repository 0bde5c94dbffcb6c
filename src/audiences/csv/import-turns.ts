/**
 * Limits how many imports run at once in a process. An import keeps a database connection for its whole transaction and
 * its file in memory. Orgs take turns, so that the imports of one org do not delay those of another for long.
 */
import { Failure } from '../../ground/errors.ts'

export type TakeTurn = <T>(orgId: string, work: () => Promise<T>) => Promise<T>

type Limits = { running: number; waitingPerOrg: number }

const tooMany = (): Failure =>
  new Failure('RATE_LIMITED', {
    message: 'Too many imports of your organisation are waiting. Retry after the number of seconds in Retry-After.',
    retryAfter: 5,
  })

export const makeTurns = ({ running, waitingPerOrg }: Limits): TakeTurn => {
  /** The first org is the next to run. */
  const waiting = new Map<string, (() => void)[]>()
  let active = 0

  const startNext = (): void => {
    const [next] = waiting
    if (!next || active === running) return
    const [orgId, queue] = next
    const start = queue.shift()
    waiting.delete(orgId)
    if (queue.length > 0) waiting.set(orgId, queue)
    active++
    start?.()
  }

  return async (orgId, work) => {
    const queue = waiting.get(orgId) ?? []
    if (queue.length >= waitingPerOrg) throw tooMany()
    await new Promise<void>((resolve) => {
      waiting.set(orgId, queue)
      queue.push(resolve)
      startNext()
    })
    try {
      return await work()
    } finally {
      active--
      startNext()
    }
  }
}
