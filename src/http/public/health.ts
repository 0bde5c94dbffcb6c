import type { FastifyInstance } from 'fastify'
import { sameBytes } from '../../ground/crypto.ts'
import { Failure } from '../../ground/errors.ts'
import type { Metrics } from '../metrics.ts'
import { fromThisMachine } from '../this-machine.ts'

type Needs = {
  metrics: Metrics
  metricsToken: string | undefined
  /** Resolves when the service can handle requests, and throws otherwise. */
  ready: () => Promise<void>
}

export const registerHealth = (app: FastifyInstance, { metrics, metricsToken, ready }: Needs): void => {
  app.get('/healthz', async () => ({ status: 'ok' }))

  app.get('/readyz', async (_request, reply) => {
    try {
      await ready()
      return { status: 'ready' }
    } catch {
      return reply.code(503).send({ status: 'not_ready' })
    }
  })

  app.get('/metrics', async (request, reply) => {
    const given = request.headers.authorization ?? ''
    const allowed =
      metricsToken === undefined ? fromThisMachine(request.raw) : sameBytes(given, `Bearer ${metricsToken}`)
    // Metrics reveal activity of orgs. To anyone else the path does not exist.
    if (!allowed) throw new Failure('NOT_FOUND')
    return reply.type(metrics.contentType).send(await metrics.text())
  })
}
