import { serviceFlags } from '../../bin/flags.js'
import { type Bench, type Contender, serverContender } from '../harness.ts'
import type { RequestShape } from '../wire.ts'

type Ready = { port: number; key: string; session: string; projectId: string }

const reading = (name: string, request: (ready: Ready) => Pick<RequestShape, 'path' | 'headers'>): Contender =>
  serverContender<Ready>({
    name,
    flags: serviceFlags,
    program: new URL('../servers/gated.ts', import.meta.url),
    params: async (resources) => ({ databaseUrl: (await resources.database(name)).url }),
    request: (ready) => ({ method: 'GET', ...request(ready) }),
  })

/** A request with a session reads the session, the membership and the policies from the database; a key is cached. */
export const dashboard: Bench = {
  name: 'dashboard',
  about: 'Read one row with an API key, and one row with a browser session.',
  clients: [100],
  baseline: 'key',
  contenders: [
    reading('key', ({ key, projectId }) => ({
      path: `/api/v1/projects/${projectId}`,
      headers: { authorization: `Bearer ${key}` },
    })),
    reading('session', ({ session }) => ({
      path: '/api/internal/org',
      headers: { cookie: `service_session=${session}` },
    })),
  ],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 100, of: 'session', to: 'key', atLeast: 0.5 }],
}
