/** Requests with an Idempotency-Key: their key, the request it belongs to, and how a claim on it ends. */
import type { FastifyRequest } from 'fastify'
import { lostConnection } from '../../platform/db/faults.ts'
import { retryOnOutage } from '../../platform/db/outage.ts'
import { canonicalJson, hashCanonical } from '../../platform/ground/canonical.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { Idempotency, IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import { idempotencyKeyRule, isIdempotencyKey } from '../../platform/idempotency/key.ts'
import { malformed } from './envelope.ts'
import { headerOf } from './header-of.ts'
import { largeBody } from './read-request.ts'

export const readIdempotencyKey = (request: FastifyRequest): string | undefined => {
  const key = headerOf(request.headers, 'idempotency-key')
  if (key === undefined || key === '') return undefined
  if (!isIdempotencyKey(key)) throw malformed(idempotencyKeyRule, ['headers', 'Idempotency-Key'])
  return key
}

/** The size of a request without a body is 0. */
const sizeOf = (request: FastifyRequest): number => (request.body as Buffer | undefined)?.length ?? 0

export const fingerprintOf = (request: FastifyRequest, body: unknown): MaybePromise<Buffer> => {
  const target = `${request.method} ${request.url.split('?', 1)[0]}\n`
  return sizeOf(request) > largeBody ? hashCanonical(target, body) : sha256(`${target}${canonicalJson(body)}`)
}

type Needs = { idempotency: Pick<Idempotency, 'record' | 'free'>; log: Log }

export const makeEndClaims = ({ idempotency, log }: Needs) => {
  /**
   * The caller gets the response even if recording it fails. The key then stays locked until its lock expires. `recorded` is
   * set if the work has recorded its response already.
   */
  const settle = async (
    claim: IdempotencyClaim,
    response: { status: number; recorded?: boolean },
    text: string,
  ): Promise<void> => {
    if (response.recorded) return
    await idempotency.record(claim, response.status, text).catch((error) => {
      log.error({ err: error }, 'recording an idempotent response failed')
    })
  }

  /**
   * After an error. A request that had an effect keeps its key. The response does not wait for a database that is down. Its
   * key is released once the database is back.
   */
  const release = async (claim: IdempotencyClaim, error: unknown): Promise<void> => {
    if (error instanceof Failure && error.detail.done) return
    const logFailure = (fault: unknown) => log.error({ err: fault }, 'releasing an idempotency key failed')
    await idempotency.free(claim).catch((fault) => {
      if (!lostConnection(fault)) return logFailure(fault)
      void retryOnOutage(() => idempotency.free(claim)).catch(logFailure)
    })
  }

  return { settle, release }
}
