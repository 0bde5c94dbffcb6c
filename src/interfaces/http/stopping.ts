/** What clients see while the service stops. */
import type { FastifyInstance } from 'fastify'
import { Failure } from '../../platform/ground/errors.ts'

/** By then, a supervisor has started another process or the load balancer has chosen one. */
const retryAfterSeconds = 1

/** Answered to the end, because operators watch a stopping service through them. */
const watched = new Set(['/healthz', '/readyz', '/metrics'])

export const makeStopping = () => {
  let begun = false
  return {
    /** From now on every response closes its connection, so that clients connect elsewhere. Requests are still served. */
    begin: (): void => {
      begun = true
    },
    begun: (): boolean => begun,
  }
}

export type Stopping = ReturnType<typeof makeStopping>

/** Refuses requests that arrive, on connections that are still open, after the server has stopped to listen. */
export const refuseWhileClosing = (app: FastifyInstance, stopping: Stopping): void => {
  let closing = false
  app.addHook('preClose', async () => {
    stopping.begin()
    closing = true
  })
  app.addHook('onRequest', (request, _reply, done) => {
    if (!closing || watched.has(request.routeOptions.url ?? '')) done()
    else
      done(
        new Failure('UNAVAILABLE', {
          message: 'The service is stopping. Retry the request.',
          retryAfter: retryAfterSeconds,
        }),
      )
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (stopping.begun()) reply.header('connection', 'close')
    done()
  })
}
