/** Runs a request of the dashboard once per Idempotency-Key, such as for a button that is clicked twice. */
import type { FastifyRequest } from 'fastify'
import { Failure } from '../../ground/errors.ts'
import type { Log } from '../../ground/log.ts'
import type { Idempotency, IdempotencyClaim, ReplayedResponse } from '../../idempotency/claims.ts'
import { fingerprintOf, makeEndClaims, readIdempotencyKey } from '../claimed-request.ts'
import type { DashboardResponse, MemberSession } from './dashboard-route.ts'
import { scopeOf } from './member-scope.ts'

type Work = (claim: IdempotencyClaim | undefined) => Promise<DashboardResponse>

/** `body` is the body of the request as it was sent. */
export type RunClaimed = (
  request: FastifyRequest,
  session: MemberSession,
  body: unknown,
  work: Work,
) => Promise<DashboardResponse>

const headers = { 'idempotent-replayed': 'true' }

/** Errors are recorded in the form of /api/v1. */
const replayed = ({ status, body }: ReplayedResponse): DashboardResponse => {
  const recorded = JSON.parse(body)
  if (status < 400) return { status, body: recorded, headers }
  const { code, message, errors, type: _, request_id: __, ...extra } = recorded.error
  throw new Failure(code, { message, ...(errors && { errors }), extra, headers })
}

export const makeRunClaimed = ({ idempotency, log }: { idempotency: Idempotency; log: Log }): RunClaimed => {
  const { settle, release } = makeEndClaims({ idempotency, log })
  return async (request, session, body, work) => {
    const key = readIdempotencyKey(request)
    if (key === undefined) return work(undefined)
    const caller = { ...scopeOf(session), allowedDomainIds: null }
    const outcome = await idempotency.claim(caller, key, await fingerprintOf(request, body))
    if (outcome && 'replay' in outcome) return replayed(outcome.replay)
    const claim = outcome?.claim
    try {
      const response = await work(claim)
      if (claim) await settle(claim, response, JSON.stringify(response.body))
      return response
    } catch (error) {
      if (claim) await release(claim, error)
      throw error
    }
  }
}
