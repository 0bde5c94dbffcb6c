/** Whether the service runs and is ready, and its metrics. */
import { z } from 'zod'
import { sameBytes } from '../../../platform/ground/crypto.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { Metrics } from '../metrics.ts'
import { byAnyone, byMachine, defineRoute, type Route } from '../route.ts'

type Needs = {
  metrics: Metrics
  metricsToken: string | undefined
  /** Resolves when the service can handle requests, and throws otherwise. */
  ready: () => Promise<void>
}

const Status = z.object({ status: z.string() })

export const healthRoutes = ({ metrics, metricsToken, ready }: Needs): Route[] => [
  defineRoute('GET', '/healthz', byAnyone, {
    hidden: true,
    responses: { 200: Status },
    handle: async () => ({ status: 200, body: { status: 'ok' } }),
  }),
  defineRoute('GET', '/readyz', byAnyone, {
    hidden: true,
    responses: { 200: Status, 503: Status },
    handle: () =>
      ready().then(
        () => ({ status: 200, body: { status: 'ready' } }),
        () => ({ status: 503, body: { status: 'not_ready' } }),
      ),
  }),
  // Metrics reveal activity of orgs. To anyone else the path does not exist.
  defineRoute('GET', '/metrics', metricsToken === undefined ? byMachine : byAnyone, {
    hidden: true,
    responses: { 200: z.string() },
    handle: async ({ headers }) => {
      const isAllowed = metricsToken === undefined || sameBytes(headers.authorization ?? '', `Bearer ${metricsToken}`)
      if (!isAllowed) throw new Failure('NOT_FOUND')
      return { status: 200, body: await metrics.text(), contentType: metrics.contentType }
    },
  }),
]
