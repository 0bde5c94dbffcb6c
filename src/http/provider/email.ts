/** Receives delivery notifications from the email provider. Notifications without a valid signature are rejected. */
import type { FastifyInstance } from 'fastify'
import { Failure } from '../../ground/errors.ts'
import type { Log } from '../../ground/log.ts'
import type { Outcomes } from '../../messages/outcomes.ts'
import type { SesIntake } from '../../providers/email/ses-notifications.ts'
import { BadSignature } from '../../providers/email/sns.ts'
import { sesNotificationPath } from '../openapi/prose.ts'

const bodyLimit = 10 * 1_048_576

type Needs = { ses: SesIntake; outcomes: Outcomes; log: Log }

export const registerEmailIntake = (app: FastifyInstance, { ses, outcomes, log }: Needs): void => {
  app.register(async (intake) => {
    // Amazon sends JSON as text/plain. Any content type is accepted, because the signature authenticates the body.
    intake.addHook('onRequest', async ({ raw }) => {
      raw.headers['content-type'] = 'text/plain'
    })
    intake.removeAllContentTypeParsers()
    intake.addContentTypeParser('text/plain', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
      done(null, body),
    )
    intake.post(sesNotificationPath, { bodyLimit }, async (request, reply) => {
      try {
        const body = request.body as Buffer | undefined
        const received = await ses.take(body?.toString('utf8') ?? '')
        if (received.kind === 'notification') {
          for (const { notificationId, ...report } of received.notifications) {
            await outcomes.take({ provider: 'ses', id: notificationId, ...report })
          }
        }
        return { status: received.kind }
      } catch (error) {
        if (!(error instanceof BadSignature)) {
          log.error({ err: error, request_id: request.id }, 'processing a provider notification failed')
          // Amazon retries after a 503, but not after a 4xx.
          throw new Failure('UNAVAILABLE', { cause: error })
        }
        log.warn({ reason: error.message, request_id: request.id }, 'provider notification has an invalid signature')
        return reply.code(403).send({ error: 'The signature is not valid' })
      }
    })
  })
}
