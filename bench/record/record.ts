import { type Bench, type Contender, type Resources, serverContender } from '../harness.ts'
import { pgbench } from '../servers/pgbench.ts'
import { counterSlot, type RequestShape } from '../wire.ts'

const server = (file: string) => new URL(`../servers/${file}`, import.meta.url)

const rowRequest = (path: string): RequestShape => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body: `{"channel":"email","value":"user${counterSlot}@example.com"}`,
})

const withDatabase = async (resources: Resources) => ({ databaseUrl: (await resources.database()).url })

/** The whole service with a minimal route. Other routes are compared with it. */
export const recorded = (name: string): Contender =>
  serverContender<{ port: number; key: string }>({
    name,
    service: 'with a worker',
    program: server('service.ts'),
    params: withDatabase,
    request: ({ key }) => {
      const request = rowRequest('/api/v1/bench/rows')
      return { ...request, headers: { ...request.headers, authorization: `Bearer ${key}` } }
    },
  })

export const record: Bench = {
  name: 'record',
  about: 'Accept a POST with a small JSON body, record it for one org, count it, and respond with 201.',
  clients: [1, 10, 100, 500],
  baseline: 'plain-fastify',
  contenders: [
    serverContender({
      name: 'bare-http',
      program: server('bare-http.ts'),
      request: () => rowRequest('/rows'),
    }),
    serverContender({
      name: 'plain-fastify',
      program: server('plain-fastify.ts'),
      params: withDatabase,
      request: () => rowRequest('/rows'),
    }),
    recorded('service'),
    pgbench,
  ],
  targets: [
    { kind: 'ratio', figure: 'perSecond', clients: 100, of: 'service', to: 'plain-fastify', atLeast: 3 },
    { kind: 'ratio', figure: 'perSecond', clients: 100, of: 'service', to: 'bare-http', atLeast: 0.35 },
    { kind: 'ratio', figure: 'p50Ms', clients: 1, of: 'service', to: 'plain-fastify', atMost: 1.3 },
    { kind: 'rss', clients: 100, of: 'service', atMost: 250 },
  ],
}
