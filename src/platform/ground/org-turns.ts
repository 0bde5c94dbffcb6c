/**
 * Limits how much work of one kind runs at once in a process, where each piece keeps a database connection and much
 * memory. Orgs take turns, so that the work of one org does not delay that of another for long.
 */
import { Failure } from './errors.ts'

type TakeTurn = <T>(orgId: string, work: () => Promise<T>) => Promise<T>

/** `what` is the plural name of the work, for the error. */
type Limits = { what: string; running: number; waitingPerOrg: number }

const tooMany = (what: string): Failure =>
  new Failure('RATE_LIMITED', {
    message: `Too many ${what} of your organisation are waiting. Retry after the number of seconds in Retry-After.`,
    retryAfter: 5,
  })

export const makeOrgTurns = ({ what, running, waitingPerOrg }: Limits): TakeTurn => {
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
    if (queue.length >= waitingPerOrg) throw tooMany(what)
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
