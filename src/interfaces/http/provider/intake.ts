/**
 * What every route for provider notifications has in common. Anyone can reach these routes, so a request costs little
 * until its signature is verified: its size, depth and values are bounded, and large bodies are parsed in a thread.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { unavailable } from '../../../platform/db/refuse-in-outage.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { Log } from '../../../platform/ground/log.ts'
import type { Limiter } from '../../../platform/limits/limiter.ts'
import { bucketsPerAddress, refusedUntil } from '../../../platform/limits/per-address.ts'
import { SignatureFault } from '../../../providers/bad-signature.ts'
import { callerAddress, type ProxyTrust } from '../caller-address.ts'
import { malformed } from '../envelope.ts'
import { scanJson } from '../json-scan.ts'
import { type ReadBody, refuseBody } from '../read-body.ts'
import { makeJsonThread } from './json-thread.ts'

export type Intake = {
  /** The path below /api/webhooks/provider/. */
  name: string
  /**
   * Verifies and processes a parsed notification, and returns the response. Throws SignatureFault when it is not from our
   * provider. Undefined while no provider is configured.
   */
  take: ((notification: unknown) => Promise<unknown>) | undefined
  /** Which requests count toward the limit of a source. */
  counts: 'every request' | 'bad signatures'
}

const bodyLimit = 10 * 1_048_576
/** Far more than a notification has. */
const bounds = { depth: 32, values: 10_000 }
/** Larger bodies are parsed in a thread. A notification of Amazon SNS is smaller. */
const largeNotification = 262_144
const perMinute = 600

/** What was processed before the error is recognised when the notification comes again. */
export const notProcessed = 'The notification could not be processed. Send it again.'

export type IntakeNeeds = {
  limiter: Limiter | undefined
  clock: Clock
  log: Log
  proxies: ProxyTrust
  readBody: ReadBody
}

/** Reads the body to its end and keeps nothing of it. */
const discardBody = async (payload: IncomingMessage): Promise<void> => {
  let length = 0
  try {
    for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
      length += (chunk as Buffer).length
      if (length > bodyLimit) break
    }
  } catch {
    throw malformed('The connection closed before the whole body arrived.')
  }
  if (length > bodyLimit) throw refuseBody(bodyLimit)
}

/** Rejects at once if the announced length decides it. Node discards the rest of a body that is not read. */
const rejectUnconfigured = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const announced = request.headers['content-length']
  if (Number(announced) > bodyLimit) throw refuseBody(bodyLimit)
  if (announced === undefined) await discardBody(request.raw)
  return reply.code(403).send({ error: 'No provider is configured for these notifications' })
}

const makeParse = (thread: { parse(bytes: Buffer): Promise<{ value: unknown } | undefined> }) => {
  const parseHere = (bytes: Buffer): { value: unknown } | undefined => {
    try {
      return { value: JSON.parse(bytes.toString('utf8')) }
    } catch {
      return undefined
    }
  }
  return async (bytes: Buffer): Promise<unknown> => {
    const { fault } = await scanJson(bytes, bounds)
    if (fault) throw new SignatureFault(`body exceeds the bound on ${fault}`)
    const parsed = bytes.length > largeNotification ? await thread.parse(bytes) : parseHere(bytes)
    if (!parsed) throw new SignatureFault('body is not JSON')
    return parsed.value
  }
}

/** Counts a request of a source, or throws RATE_LIMITED. */
export const makeCountSource =
  ({ limiter, clock, proxies }: Pick<IntakeNeeds, 'limiter' | 'clock' | 'proxies'>) =>
  async ({ name }: Pick<Intake, 'name'>, request: FastifyRequest): Promise<void> => {
    const now = clock.millis()
    const source = callerAddress(request.raw, proxies)
    const limit = { limit: perMinute, windowMs: 60_000 }
    const buckets = bucketsPerAddress(source, limit, (network) => `{intake}:${name}:${network}`)
    const until = refusedUntil(await limiter?.take(buckets, now))
    if (until !== undefined) throw new Failure('RATE_LIMITED', { retryAfter: (until - now) / 1000 })
  }

export const registerIntakes = (app: FastifyInstance, intakes: readonly Intake[], needs: IntakeNeeds): void => {
  const { log, readBody } = needs
  const count = makeCountSource(needs)
  const thread = makeJsonThread()
  const parse = makeParse(thread)
  app.addHook('onClose', () => thread.close())

  const rejectSignature = async (intake: Intake, request: FastifyRequest, reply: FastifyReply, reason: string) => {
    log.warn({ reason, intake: intake.name, request_id: request.id }, 'provider notification has an invalid signature')
    // A valid notification from the same address is not affected.
    if (intake.counts === 'bad signatures') await count(intake, request)
    return reply.code(403).send({ error: 'The signature is not valid' })
  }

  const process = async (intake: Intake, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    try {
      const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
      return await intake.take?.(await parse(body))
    } catch (error) {
      if (error instanceof SignatureFault) return rejectSignature(intake, request, reply, error.message)
      if (error instanceof Failure) throw error
      log.error({ err: error, request_id: request.id }, 'processing a provider notification failed')
      // Amazon retries after a 503, but not after a 4xx.
      throw unavailable(error, { message: notProcessed, logged: true })
    }
  }

  app.register(
    async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('text/plain', readBody)
      for (const intake of intakes) {
        scope.post(`/${intake.name}`, {
          bodyLimit,
          onRequest: async (request, reply) => {
            // Amazon sends JSON as text/plain. Any content type is accepted: the signature authenticates the body.
            request.raw.headers['content-type'] = 'text/plain'
            if (intake.counts === 'every request') await count(intake, request)
            if (!intake.take) return rejectUnconfigured(request, reply)
          },
          handler: (request, reply) => process(intake, request, reply),
        })
      }
    },
    { prefix: '/api/webhooks/provider' },
  )
}
