/** What happens to an admitted request: its input is judged, its Idempotency-Key claimed, its route called. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../audit/append.ts'
import { canonicalJson, TooDeep } from '../ground/canonical.ts'
import { sha256 } from '../ground/crypto.ts'
import { Failure } from '../ground/errors.ts'
import { isId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import { withRequestId } from '../ground/request-context.ts'
import type { Idempotency, IdempotencyClaim } from '../idempotency/claims.ts'
import { isIdempotencyKey, takesForKey } from '../idempotency/key.ts'
import type { TenantsByReference } from '../tenants/by-reference.ts'
import type { Admitted } from './admit-request.ts'
import { malformed } from './envelope.ts'
import { parseJson, readQuery, validate } from './read-request.ts'
import type { Answer, Route } from './route.ts'

const readIdempotencyKey = (request: FastifyRequest): string | undefined => {
  const header = request.headers['idempotency-key']
  if (header === undefined || header === '') return undefined
  const key = Array.isArray(header) ? header.join(', ') : header
  if (!isIdempotencyKey(key)) throw malformed(takesForKey, ['headers', 'Idempotency-Key'])
  return key
}

const fingerprintOf = (request: FastifyRequest, body: unknown): Buffer => {
  try {
    return sha256(`${request.method} ${request.url.split('?', 1)[0]}\n${canonicalJson(body)}`)
  } catch (error) {
    if (error instanceof TooDeep) throw malformed('Nested too deeply.')
    throw error
  }
}

const checkParams = (route: Route, params: Record<string, string>): void => {
  for (const [name, kind] of Object.entries(route.params ?? {})) {
    if (!isId(kind, params[name] ?? '')) throw new Failure('NOT_FOUND')
  }
}

type Needs = {
  idempotency: Idempotency
  tenants: TenantsByReference
  log: Log
  /** In tests: holds every answer against the shape its route declares. */
  checkAnswers: boolean
}

export type Serve = (route: Route, request: FastifyRequest, reply: FastifyReply, admitted: Admitted) => Promise<string>

export const makeServe = ({ idempotency, tenants, log, checkAnswers }: Needs): Serve => {
  const heldAgainstShape = (route: Route, answer: Answer): void => {
    const shape = route.answers[answer.status]
    if (!shape) throw new Error(`${route.method} ${route.path} declares no ${answer.status}`)
    shape.schema.parse(JSON.parse(JSON.stringify(answer.body)))
  }

  /** The answer stands even when it cannot be recorded; the key then stays locked until its lock runs out. */
  const settleClaim = async (claim: IdempotencyClaim, answer: Answer, text: string): Promise<void> => {
    if (answer.recorded) return
    await idempotency.record(claim, answer.status, text).catch((error) => {
      log.error({ err: error }, 'an idempotent answer could not be recorded')
    })
  }

  const freeClaim = async (claim: IdempotencyClaim): Promise<void> => {
    await idempotency.free(claim).catch((error) => log.error({ err: error }, 'an idempotency key could not be freed'))
  }

  return (route, request, reply, admitted) =>
    withRequestId(request.id, async () => {
      const query = route.query && validate(route.query, readQuery(request.query))
      const bytes = request.body as Buffer | undefined
      const raw = route.body && bytes && bytes.length > 0 ? parseJson(bytes) : undefined
      if (route.oversize && bytes && bytes.length > route.oversize.above) throw route.oversize.refuse(raw)
      const body = route.body && validate(route.body, raw)
      route.check?.({ query, body })
      const key = route.idempotent && readIdempotencyKey(request)
      const fingerprint = key === undefined ? undefined : fingerprintOf(request, raw)
      const params = request.params as Record<string, string>
      checkParams(route, params)

      let { caller } = admitted
      const userAgent = (request.headers['user-agent'] ?? '').slice(0, 512)
      const actor: Actor = { kind: 'key', keyId: caller.keyId, ip: admitted.address, userAgent }
      if (admitted.newTenantRef !== undefined) {
        caller = { ...caller, tenantId: await tenants.findOrCreate(caller, actor, admitted.newTenantRef) }
      }

      let claim: IdempotencyClaim | undefined
      if (key !== undefined && fingerprint) {
        const outcome = await idempotency.claim(caller, key, fingerprint)
        if (outcome && 'replay' in outcome) {
          reply.code(outcome.replay.status).header('idempotent-replayed', 'true')
          return outcome.replay.body
        }
        claim = outcome?.claim
      }

      try {
        const answer = await route.handle({
          caller,
          query,
          body,
          params,
          requestId: request.id,
          address: admitted.address,
          userAgent,
          claim,
        })
        if (checkAnswers) heldAgainstShape(route, answer)
        const text = JSON.stringify(answer.body)
        if (claim) await settleClaim(claim, answer, text)
        reply.code(answer.status)
        if (answer.headers) reply.headers(answer.headers)
        return text
      } catch (error) {
        const done = error instanceof Failure && error.detail.done
        if (claim && !done) await freeClaim(claim)
        throw error
      }
    })
}
