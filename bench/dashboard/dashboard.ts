import { type Bench, type Contender, serverContender } from '../harness.ts'
import type { Target } from '../results.ts'
import type { RequestShape } from '../wire.ts'

type Ready = { port: number; key: string; session: string; projectId: string }

const reading = (name: string, request: (ready: Ready) => Pick<RequestShape, 'path' | 'headers'>): Contender =>
  serverContender<Ready>({
    name,
    service: 'without a worker',
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

const few = 10_000
const many = 1_000_000
/** A short run only checks that everything works. */
const manyWhenQuick = 20_000

type Size = { messages?: number; entries?: number }

const browsing = (name: string, path: string, { messages = 0, entries = 0 }: Size): Contender =>
  serverContender<{ port: number; session: string }>({
    name,
    service: 'without a worker',
    program: new URL('../servers/browsing.ts', import.meta.url),
    params: async (resources) => {
      const atMost = resources.quick ? manyWhenQuick : many
      return {
        databaseUrl: (await resources.database(`${messages}-${entries}`)).url,
        messages: Math.min(messages, atMost),
        entries: Math.min(entries, atMost),
      }
    },
    request: ({ session }) => ({
      method: 'GET',
      path,
      headers: {
        cookie: `service_session=${session}`,
        'sec-fetch-site': 'same-origin',
        'x-requested-with': 'dashboard',
      },
    }),
  })

const flat = (of: string, to: string): Target => ({
  kind: 'ratio',
  figure: 'p50Ms',
  clients: 10,
  of,
  to,
  atMost: 2,
})

/** The search finds its text in one of ten messages. */
const list = '/api/internal/messages?limit=20'
const search = `${list}&q=7%40example.com`

export const browse: Bench = {
  name: 'browse',
  about:
    'Read one row, the overview, a page of messages, and a page of messages with a text in them, in the dashboard of an org with few messages and of one with many.',
  clients: [10],
  baseline: 'org',
  contenders: [
    browsing('org', '/api/internal/org', { messages: many }),
    browsing('overview', '/api/internal/overview', { messages: many }),
    browsing('list-10k', list, { messages: few }),
    browsing('list-1m', list, { messages: many }),
    browsing('search-10k', search, { messages: few }),
    browsing('search-1m', search, { messages: many }),
  ],
  targets: [
    { kind: 'ratio', figure: 'p50Ms', clients: 10, of: 'overview', to: 'org', atMost: 3 },
    flat('list-1m', 'list-10k'),
    flat('search-1m', 'search-10k'),
  ],
}

const entriesOf = '/api/internal/audit?limit=50'
const chainOf = '/api/internal/audit/chain?limit=100'

export const auditReads: Bench = {
  name: 'audit-reads',
  about: 'Read a page of the audit log, and verify a page of its chain, with few entries and with many.',
  clients: [10],
  baseline: 'list-10k',
  contenders: [
    browsing('list-10k', entriesOf, { entries: few }),
    browsing('list-1m', entriesOf, { entries: many }),
    browsing('verify-10k', chainOf, { entries: few }),
    browsing('verify-1m', chainOf, { entries: many }),
  ],
  targets: [flat('list-1m', 'list-10k'), flat('verify-1m', 'verify-10k')],
}
