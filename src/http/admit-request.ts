/** The gates every /api/v1 request passes before its body is read: what it carries in its headers, asked in order. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AccessRule, Admission, Admitted, Rate } from '../admission/admit.ts'
import { callerAddress } from './caller-address.ts'

export type { Admitted }

export interface AdmitRequest {
  /** The entry is absent for a path no route serves: such a request passes up to the tenant's gate and is told so. */
  admit(request: FastifyRequest, reply: FastifyReply, entry: AccessRule | undefined): Promise<Admitted>
}

const bearer = /^Bearer +(\S+) *$/i

const showRate = (reply: FastifyReply, { limit, remaining, resetAt, plan, scope }: Rate): void => {
  reply.headers({
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': resetAt,
    'x-ratelimit-plan': plan,
    'x-ratelimit-scope': scope,
  })
}

type Needs = { admission: Admission; trustedProxyHops: number }

export const makeAdmitRequest = ({ admission, trustedProxyHops }: Needs): AdmitRequest => ({
  admit: async (request, reply, entry) => {
    const address = callerAddress(request.raw, trustedProxyHops)
    const caller = await admission.pass({
      key: request.headers.authorization?.match(bearer)?.[1],
      address,
      onCount: (rate) => showRate(reply, rate),
    })
    const header = request.headers['x-service-tenant-ref']
    const tenantRef = Array.isArray(header) ? header.join(', ') : header
    return { address, ...(await admission.narrow(caller, tenantRef, entry)) }
  },
})
