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
import { largeBody } from './read-request.ts'

export const readIdempotencyKey = (request: FastifyRequest): string | undefined => {
  const header = request.headers['idempotency-key']
  if (header === undefined || header === '') return undefined
  const key = Array.isArray(header) ? header.join(', ') : header
  if (!isIdempotencyKey(key)) throw malformed(idempotencyKeyRule, ['headers', 'Idempotency-Key'])
  return key
}

/** The size of a request without a body is 0. */
const sizeOf = (request: FastifyRequest): number => (request.body as Buffer | undefined)?.length ?? 0

export const fingerprintOf = (request: FastifyRequest, body: unknown): MaybePromise<Buffer> => {
  const target = `${request.method} ${request.url.split('?', 1)[0]}\n`
  return sizeOf(request) > largeBody ? hashCanonical(target, body) : sha256(`${target}${canonicalJson(body)}`)
}

export interface EndClaims {
  /** `recorded` is set if the work has recorded its response already. */
  settle(claim: IdempotencyClaim, response: { status: number; recorded?: boolean }, text: string): Promise<void>
  /** After an error. A request that had an effect keeps its key. */
  release(claim: IdempotencyClaim, error: unknown): Promise<void>
}

type Needs = { idempotency: Pick<Idempotency, 'record' | 'free'>; log: Log }

export const makeEndClaims = ({ idempotency, log }: Needs): EndClaims => {
  /** The caller gets the response even if recording it fails. The key then stays locked until its lock expires. */
  const settle: EndClaims['settle'] = async (claim, response, text) => {
    if (response.recorded) return
    await idempotency.record(claim, response.status, text).catch((error) => {
      log.error({ err: error }, 'recording an idempotent response failed')
    })
  }

  /** The response does not wait for a database that is down. Its key is released once the database is back. */
  const release: EndClaims['release'] = async (claim, error) => {
    if (error instanceof Failure && error.detail.done) return
    const logFailure = (fault: unknown) => log.error({ err: fault }, 'releasing an idempotency key failed')
    await idempotency.free(claim).catch((fault) => {
      if (!lostConnection(fault)) return logFailure(fault)
      void retryOnOutage(() => idempotency.free(claim)).catch(logFailure)
    })
  }

  return { settle, release }
}
