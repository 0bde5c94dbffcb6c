import { type Bench, type Contender, fullPace, type Resources, serverContender } from '../harness.ts'
import { recorded } from '../record/record.ts'
import { counterSlot, type RequestShape } from '../wire.ts'
import { signInMeanwhile } from './sign-ins.ts'

const withDatabase = async (resources: Resources) => ({ databaseUrl: (await resources.database()).url })

const mail = (to: string) =>
  `{"from":"Bench <hello@example.test>","to":["${to}"],"subject":"A receipt","html":"<p>Thank you, <b>Ada</b>.</p>","text":"Thank you, Ada.","tags":["receipt"],"metadata":{"order":"42"}}`

const postOf =
  (path: string, body: string) =>
  ({ key }: { key: string }): RequestShape => ({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body,
  })

type More = { weight?: number; atLeast?: number; meanwhile?: (ready: { port: number }) => () => Promise<void> }

export const sending = (name: string, path: string, body: string, more: More = {}): Contender =>
  serverContender<{ port: number; key: string }>({
    ...more,
    name,
    service: 'with a worker',
    program: new URL('../servers/email.ts', import.meta.url),
    params: withDatabase,
    request: postOf(path, body),
  })

export const single = sending('send', '/api/v1/emails', mail(`user${counterSlot}@example.com`))

/** Compares a send with the minimum work of the service for a recorded POST. */
export const email: Bench = {
  name: 'email',
  about:
    'Accept a single email with the local provider: all gates, the reservation, the handover, and the record with event and audit entry.',
  clients: [1, 10, 100, 500],
  baseline: 'record',
  contenders: [recorded('record'), single],
  targets: [
    { kind: 'ratio', figure: 'perSecond', clients: 1, of: 'send', to: 'record', atLeast: 0.45 },
    { kind: 'ratio', figure: 'perSecond', clients: 10, of: 'send', to: 'record', atLeast: 0.45 },
    { kind: 'ratio', figure: 'perSecond', clients: 100, of: 'send', to: 'record', atLeast: 0.55 },
    { kind: 'ratio', figure: 'perSecond', clients: 500, of: 'send', to: 'record', atLeast: 0.6 },
    { kind: 'spread', clients: 100, of: 'send', atMost: 10 },
  ],
}

/** Compares one process with two that share a port. The figure depends on idle cores for the second one. */
export const several: Bench = {
  name: 'several',
  about: 'Accept a single email in one API process, and in two API processes of one primary, which counts the limits.',
  clients: [100],
  baseline: 'one process',
  contenders: [
    { ...single, name: 'one process' },
    serverContender<{ port: number; key: string }>({
      name: 'two processes',
      service: 'with a worker',
      program: new URL('../servers/several.ts', import.meta.url),
      params: async (resources) => ({ databaseUrl: (await resources.database('two')).url, processes: 2 }),
      request: postOf('/api/v1/emails', mail(`user${counterSlot}@example.com`)),
    }),
  ],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 100, of: 'two processes', to: 'one process', atLeast: 1.1 }],
  rounds: 5,
}

const batchSize = 100
const items = Array.from({ length: batchSize }, (_, i) => mail(`user${counterSlot}-${i}@example.com`))

export const batch: Bench = {
  name: 'batch',
  about: 'Send the same emails one per request and a hundred per request; counted in emails.',
  clients: [1, 10],
  baseline: 'send',
  contenders: [single, sending('batch', '/api/v1/emails/batch', `[${items.join(',')}]`, { weight: batchSize })],
  targets: [
    { kind: 'ratio', figure: 'perSecond', clients: 1, of: 'batch', to: 'send', atLeast: 5 },
    { kind: 'ratio', figure: 'perSecond', clients: 10, of: 'batch', to: 'send', atLeast: 5 },
    { kind: 'rss', clients: 10, of: 'batch', atMost: 300 },
  ],
}

/** The emails of the bench are spread over all rounds. */
const perRound = 200_000 / fullPace.rounds

export const memory: Bench = {
  name: 'memory',
  about: `Send ${(200_000).toLocaleString('en-US')} emails and check that memory does not grow with their number.`,
  clients: [100],
  baseline: 'send',
  contenders: [
    sending('send', '/api/v1/emails', mail(`user${counterSlot}@example.com`), {
      atLeast: Math.ceil(perRound),
    }),
  ],
  targets: [{ kind: 'growth', clients: 100, of: 'send', atMost: 1.2 }],
}

/** Hashing a password must not keep sends waiting. */
export const signIns: Bench = {
  name: 'sign-ins',
  about: 'Accept a single email while nobody signs in to the dashboard, and while 20 people a second do; see p99.',
  clients: [50],
  baseline: 'send',
  contenders: [
    single,
    sending('send-during-sign-ins', '/api/v1/emails', mail(`user${counterSlot}@example.com`), {
      meanwhile: ({ port }) => signInMeanwhile(port, 20),
    }),
  ],
  targets: [{ kind: 'ratio', figure: 'p99Ms', clients: 50, of: 'send-during-sign-ins', to: 'send', atMost: 2 }],
}
