/** POST /api/billing/callback: the signed events of the payment provider. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { TakeCallback } from '../../../people/billing/take-callback.ts'
import { unavailable } from '../../../platform/db/refuse-in-outage.ts'
import { withRequestId } from '../../../platform/ground/request-context.ts'
import { SignatureFault } from '../../../providers/bad-signature.ts'
import { type IntakeNeeds, makeCountSource, notProcessed } from './intake.ts'

const bodyLimit = 1_048_576

/** `takeCallback` is undefined when this installation takes no payments. */
type Needs = IntakeNeeds & { takeCallback: TakeCallback | undefined }

const signatureOf = ({ headers }: FastifyRequest): string | undefined => {
  const value = headers['stripe-signature']
  return Array.isArray(value) ? value[0] : value
}

export const registerBillingCallback = (app: FastifyInstance, needs: Needs): void => {
  const { takeCallback, log, readBody } = needs
  const count = makeCountSource(needs)

  const take = async (request: FastifyRequest): Promise<{ status: string } | 'not signed'> => {
    try {
      const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
      if (!takeCallback) throw new SignatureFault('no payment provider is configured')
      return { status: await takeCallback(body, signatureOf(request)) }
    } catch (error) {
      if (error instanceof SignatureFault) {
        log.warn({ reason: error.message, request_id: request.id }, 'payment callback has an invalid signature')
        await count({ name: 'billing' }, request)
        return 'not signed'
      }
      log.error({ err: error, request_id: request.id }, 'processing a payment callback failed')
      // The provider repeats the callback after a 503.
      throw unavailable(error, { message: notProcessed, logged: true })
    }
  }

  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // The signature covers the bytes, whatever their content type.
    scope.addContentTypeParser('*', readBody)
    scope.post('/api/billing/callback', { bodyLimit }, (request, reply) =>
      withRequestId(request.id, async () => {
        const taken = await take(request)
        return taken === 'not signed' ? reply.code(403).send({ error: 'The signature is not valid' }) : taken
      }),
    )
  })
}
