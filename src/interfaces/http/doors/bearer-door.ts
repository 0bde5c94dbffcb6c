/** Admits programs to /api/mcp by their API key or OAuth token. The request is counted later, if nothing else counts it. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../../customers/keys/caller.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { isIdempotencyKey } from '../../../platform/idempotency/key.ts'
import type { Door } from '../area.ts'
import { headerOf } from '../header-of.ts'
import type { BearerAccess, Entered } from '../route.ts'
import type { Authenticate } from './authenticate.ts'
import { headersOfRate } from './key-door.ts'

type Admitted = { caller: Caller; address: string | null; count: () => Promise<void> }

type Needs = { authenticate: Authenticate; baseUrl: () => string }

export const makeBearerDoor = ({ authenticate, baseUrl }: Needs): Door<Admitted, Entered<BearerAccess>> => {
  /** The response tells the rate, also when it is a refusal. */
  const makeCount = (request: FastifyRequest, reply: FastifyReply) => async (): Promise<void> => {
    await authenticate(request, (rate) => reply.headers(headersOfRate(rate)))
  }
  return {
    admit: async (request, reply) => {
      const origin = headerOf(request.headers, 'origin')
      if (origin !== undefined && origin !== new URL(baseUrl()).origin) throw new Failure('CROSS_SITE_REFUSED')
      const { caller, address } = await authenticate(request)
      request.who = { orgId: caller.orgId, keyId: caller.keyId }
      const key = headerOf(request.headers, 'idempotency-key')
      if (key && !isIdempotencyKey(key)) throw new Failure('INVALID_IDEMPOTENCY_KEY')
      return { caller, address, count: makeCount(request, reply) }
    },
    enter: ({ caller, count }) => ({ caller, count }),
  }
}
