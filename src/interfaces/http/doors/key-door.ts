/** Admits requests with an API key or an OAuth token to /api/v1, before their body is read. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AccessRule, Admission, Admitted, Rate } from '../../../customers/admission/admit.ts'
import type { Caller } from '../../../customers/keys/caller.ts'
import type { TenantsByReference } from '../../../customers/tenants/by-reference.ts'
import { andThen, type MaybePromise } from '../../../platform/ground/maybe-promise.ts'
import type { Reads } from '../../../platform/replica/reads.ts'
import { callerActor } from '../actor.ts'
import type { Door } from '../area.ts'
import type { KeyAccess } from '../route.ts'
import type { Authenticate } from './authenticate.ts'

export const headersOfRate = ({ limit, remaining, resetAt, plan, scope }: Rate) => ({
  'x-ratelimit-limit': limit,
  'x-ratelimit-remaining': remaining,
  'x-ratelimit-reset': resetAt,
  'x-ratelimit-plan': plan,
  'x-ratelimit-scope': scope,
})

type Needs = {
  admission: Pick<Admission, 'narrow'>
  authenticate: Authenticate
  tenants: TenantsByReference
  reads: Pick<Reads, 'wrote'>
}

type KeyDoor = Door<Admitted, { caller: Caller }> & {
  /** For a path that no route serves. No scope is required, because none would be enough. */
  admitUnknown(request: FastifyRequest, reply: FastifyReply): MaybePromise<Admitted>
}

export const makeKeyDoor = ({ admission, authenticate, tenants, reads }: Needs): KeyDoor => {
  const admit = (request: FastifyRequest, reply: FastifyReply, rule?: AccessRule): MaybePromise<Admitted> =>
    andThen(
      authenticate(request, (rate) => reply.headers(headersOfRate(rate))),
      ({ caller, address }) => {
        const header = request.headers['x-service-tenant-ref']
        const tenantRef = Array.isArray(header) ? header.join(', ') : header
        return andThen(admission.narrow(caller, tenantRef, rule), (narrowed) => {
          request.who = { orgId: caller.orgId, keyId: caller.keyId }
          return { address, ...narrowed }
        })
      },
    )

  /** A request that creates its tenant has written, even if it is a read. */
  const createTenant = async ({ caller, address, newTenantRef }: Admitted, { headers }: FastifyRequest) => {
    const actor = callerActor(caller, address, (headers['user-agent'] ?? '').slice(0, 512))
    const tenantId = await tenants.findOrCreate(caller, actor, newTenantRef as string)
    await reads.wrote?.([caller.orgId])
    return { caller: { ...caller, tenantId } }
  }

  return {
    admit: (request, reply, { access }) => admit(request, reply, access as KeyAccess),
    admitUnknown: (request, reply) => admit(request, reply),
    enter: (admitted, request) =>
      admitted.newTenantRef === undefined ? { caller: admitted.caller } : createTenant(admitted, request),
    subjectsOf: ({ caller }) => [caller.orgId],
    claimantOf: ({ caller }) => caller,
  }
}
