/** A server with a few routes and nothing else, for tests that choose the address of the caller. */
import type { FastifyInstance } from 'fastify'
import type { Doors } from '../../src/interfaces/http/area.ts'
import { makeMachineDoor, makeOpenDoor } from '../../src/interfaces/http/doors/open-doors.ts'
import { envelopeFormat } from '../../src/interfaces/http/error-format.ts'
import { makeMetrics } from '../../src/interfaces/http/metrics.ts'
import { makeReadBody } from '../../src/interfaces/http/read-body.ts'
import type { Route } from '../../src/interfaces/http/route.ts'
import { makeServe } from '../../src/interfaces/http/serve-route.ts'
import { makeServer } from '../../src/interfaces/http/server.ts'
import { makeStopping } from '../../src/interfaces/http/stopping.ts'
import { makeUploads } from '../../src/interfaces/http/uploads.ts'
import { silentLog } from '../../src/platform/ground/log.ts'

export const serveAlone = (routes: readonly Route[]): FastifyInstance => {
  const proxies = { trustedProxies: [], trustedProxyHops: 0 }
  const log = silentLog()
  const doors = { machine: makeMachineDoor(proxies), anyone: makeOpenDoor(proxies) } as unknown as Doors
  const serve = makeServe({
    idempotency: undefined as never,
    reads: { serve: (_subjects, work) => work() },
    log,
    checkResponses: true,
  })
  return makeServer({
    areas: [{ prefix: '', base: '', routes, format: envelopeFormat, bodyLimit: 1_000_000 }],
    doors,
    serve,
    log,
    metrics: makeMetrics(),
    requestTimeoutMs: 30_000,
    readBody: makeReadBody({ uploads: makeUploads({ perCaller: 1_000_000, total: 1_000_000 }), proxies }),
    stopping: makeStopping(),
  })
}
