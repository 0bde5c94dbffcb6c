import { single as email } from '../email/email.ts'
import { type Bench, type Contender, type Resources, serverContender } from '../harness.ts'
import { recorded } from '../record/record.ts'
import { counterSlot } from '../wire.ts'
import { idStart } from './verification-ids.ts'

/** More than a run checks. A check of an id without a row would be cheaper than one that is recorded. */
const rows = ({ quick }: Resources): number => (quick ? 200_000 : 1_500_000)

const verifying = (name: string, path: string, body: string, filled: boolean): Contender =>
  serverContender<{ port: number; key: string }>({
    name,
    service: 'with a worker',
    program: new URL('../servers/verifications.ts', import.meta.url),
    params: async (resources) => ({
      databaseUrl: (await resources.database()).url,
      rows: filled ? rows(resources) : 0,
    }),
    request: ({ key }) => ({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body,
    }),
  })

const address = `user${counterSlot}@example.com`

export const startCodes: Bench = {
  name: 'start-codes',
  about:
    'Send a one-time code by email with the local provider, against a single email in the same run: all gates, ceilings, usage and the row in one transaction, and the handover.',
  clients: [1, 100],
  baseline: 'send',
  contenders: [
    email,
    verifying(
      'start',
      '/api/v1/verifications',
      `{"channel":"email","to":"${address}","from":"hello@example.test"}`,
      false,
    ),
  ],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 100, of: 'start', to: 'send', atLeast: 0.7 }],
}

export const checkCodes: Bench = {
  name: 'check-codes',
  about: 'Check a wrong code and record the attempt, against the minimum work of the service for a recorded POST.',
  clients: [1, 100],
  baseline: 'record',
  contenders: [
    recorded('record'),
    verifying('check', `/api/v1/verifications/${idStart}${counterSlot}/check`, '{"code":"123456"}', true),
  ],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 100, of: 'check', to: 'record', atLeast: 0.8 }],
}
