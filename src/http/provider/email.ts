/** Notifications of the email provider. Whoever cannot sign as the provider changes nothing. */
import type { FastifyInstance } from 'fastify'
import { Failure } from '../../ground/errors.ts'
import type { Log } from '../../ground/log.ts'
import type { Outcomes } from '../../messages/outcomes.ts'
import type { SesIntake } from '../../providers/email/ses-notifications.ts'
import { BadSignature } from '../../providers/email/sns.ts'

const bodyLimit = 10 * 1_048_576

type Needs = { ses: SesIntake; outcomes: Outcomes; log: Log }

export const registerEmailIntake = (app: FastifyInstance, { ses, outcomes, log }: Needs): void => {
  app.register(async (intake) => {
    // Amazon sends JSON under the name of plain text; any name will do, since the signature is what counts.
    intake.addHook('onRequest', async ({ raw }) => {
      raw.headers['content-type'] = 'text/plain'
    })
    intake.removeAllContentTypeParsers()
    intake.addContentTypeParser('text/plain', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
      done(null, body),
    )
    intake.post('/api/webhooks/provider/email', { bodyLimit }, async (request, reply) => {
      try {
        const body = request.body as Buffer | undefined
        const taken = await ses.take(body?.toString('utf8') ?? '')
        if (taken.kind === 'notification') {
          for (const { notificationId, ...told } of taken.notifications) {
            await outcomes.take({ provider: 'ses', id: notificationId, ...told })
          }
        }
        return { status: taken.kind }
      } catch (error) {
        if (!(error instanceof BadSignature)) {
          log.error({ err: error, request_id: request.id }, 'a notification could not be taken in')
          // Amazon delivers again what is answered like this, and nothing that is answered with 4xx.
          throw new Failure('UNAVAILABLE', { cause: error })
        }
        log.warn({ reason: error.message, request_id: request.id }, 'a notification was not from the provider')
        return reply.code(403).send({ error: 'The signature does not hold' })
      }
    })
  })
}
