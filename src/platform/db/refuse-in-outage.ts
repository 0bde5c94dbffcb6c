import { Failure, type FailureDetail } from '../ground/errors.ts'
import type { RequestContext } from '../ground/request-context.ts'
import { isOutage } from './faults.ts'

/** A restarted server is back after this time, and a failover takes several of them. */
const retryAfterSeconds = 2

/** The database cannot do what the request needs at the moment, and nothing was done. */
export const unavailable = (cause: unknown, more: FailureDetail = {}): Failure =>
  new Failure('UNAVAILABLE', { retryAfter: retryAfterSeconds, cause, ...more })

/** The answer to a request that failed because of an outage, if the request certainly had no effect. */
export const refusalInOutage = (
  error: unknown,
  request: Pick<RequestContext, 'changed'> | null | undefined,
): Failure | undefined => (isOutage(error) && !request?.changed ? unavailable(error) : undefined)
