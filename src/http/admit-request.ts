/** Reads the credentials from the headers of a /api/v1 request and runs the admission checks before its body is read. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AccessRule, Admission, Admitted, Rate } from '../admission/admit.ts'
import { andThen, type MaybePromise } from '../ground/maybe-promise.ts'
import type { Authenticate } from './authenticate.ts'

export type { Admitted }

/** `rule` is undefined for a path that no route serves. Such a request skips the scope check, then gets a 404 or 405. */
export type AdmitRequest = (
  request: FastifyRequest,
  reply: FastifyReply,
  rule: AccessRule | undefined,
) => MaybePromise<Admitted>

export const setRateHeaders = (reply: FastifyReply, { limit, remaining, resetAt, plan, scope }: Rate): void => {
  reply.headers({
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': resetAt,
    'x-ratelimit-plan': plan,
    'x-ratelimit-scope': scope,
  })
}

type Needs = { admission: Pick<Admission, 'narrow'>; authenticate: Authenticate }

export const makeAdmitRequest =
  ({ admission, authenticate }: Needs): AdmitRequest =>
  (request, reply, rule) =>
    andThen(
      authenticate(request, (rate) => setRateHeaders(reply, rate)),
      ({ caller, address }) => {
        const header = request.headers['x-service-tenant-ref']
        const tenantRef = Array.isArray(header) ? header.join(', ') : header
        return andThen(admission.narrow(caller, tenantRef, rule), (narrowed) => ({ address, ...narrowed }))
      },
    )
