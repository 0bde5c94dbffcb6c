import { type Bench, type Contender, serverContender } from '../harness.ts'

const many = 10_000_000
const manyWhenQuick = 8_000

const reading = (name: string, path: string): Contender =>
  serverContender<{ port: number; session: string }>({
    name,
    service: 'without a worker',
    program: new URL('../servers/analytics.ts', import.meta.url),
    params: async (resources) => ({
      databaseUrl: (await resources.database()).url,
      events: resources.quick ? manyWhenQuick : many,
    }),
    request: ({ session }) => ({
      method: 'GET',
      path,
      headers: { cookie: `service_session=${session}` },
    }),
  })

export const analytics: Bench = {
  name: 'analytics',
  about: 'Read one row, and the figures of 30 days by day and by job after ten million events, in the dashboard.',
  clients: [10],
  baseline: 'org',
  contenders: [
    reading('org', '/api/internal/org'),
    reading('days', '/api/internal/analytics?days=30'),
    reading('jobs', '/api/internal/analytics?days=30&group_by=job'),
  ],
  targets: [
    { kind: 'ratio', figure: 'p50Ms', clients: 10, of: 'days', to: 'org', atMost: 3 },
    { kind: 'ratio', figure: 'p50Ms', clients: 10, of: 'jobs', to: 'org', atMost: 3 },
  ],
}
