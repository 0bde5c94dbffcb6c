/** Reads the credentials from the headers of a /api/v1 request and runs the admission checks before its body is read. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AccessRule, Admission, Admitted, Rate } from '../admission/admit.ts'
import { callerAddress, type ProxyTrust } from './caller-address.ts'

export type { Admitted }

/** `rule` is undefined for a path that no route serves. Such a request skips the scope check, then gets a 404 or 405. */
export type AdmitRequest = (
  request: FastifyRequest,
  reply: FastifyReply,
  rule: AccessRule | undefined,
) => Promise<Admitted>

const bearer = /^Bearer +(\S+) *$/i

const setRateHeaders = (reply: FastifyReply, { limit, remaining, resetAt, plan, scope }: Rate): void => {
  reply.headers({
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': resetAt,
    'x-ratelimit-plan': plan,
    'x-ratelimit-scope': scope,
  })
}

type Needs = { admission: Admission; proxies: ProxyTrust }

export const makeAdmitRequest =
  ({ admission, proxies }: Needs): AdmitRequest =>
  async (request, reply, rule) => {
    const address = callerAddress(request.raw, proxies)
    const caller = await admission.pass({
      key: request.headers.authorization?.match(bearer)?.[1],
      address,
      onCount: (rate) => setRateHeaders(reply, rate),
    })
    const header = request.headers['x-service-tenant-ref']
    const tenantRef = Array.isArray(header) ? header.join(', ') : header
    return { address, ...(await admission.narrow(caller, tenantRef, rule)) }
  }
