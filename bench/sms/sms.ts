import { single as email, sending } from '../email/email.ts'
import type { Bench } from '../harness.ts'
import { counterSlot } from '../wire.ts'

const text = (to: string) =>
  `{"from":"TIDINGS","to":"${to}","body":"Thank you, Ada. Your order is on its way.","tags":["receipt"],"metadata":{"order":"42"}}`

const single = sending('sms', '/api/v1/sms', text(`+1${counterSlot}`))

export const sms: Bench = {
  name: 'sms',
  about: 'Accept a single SMS with the local provider, against a single email in the same run.',
  clients: [1, 100],
  baseline: 'send',
  contenders: [email, single],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 100, of: 'sms', to: 'send', atLeast: 0.9 }],
}

const batchSize = 100
const items = Array.from({ length: batchSize }, (_, i) => text(`+1512555${String(1000 + i)}`))

export const smsBatch: Bench = {
  name: 'sms-batch',
  about: 'Send the same SMS one per request and a hundred per request, ten of them at a time; counted in SMS.',
  clients: [1, 10],
  baseline: 'sms',
  contenders: [single, sending('batch', '/api/v1/sms/batch', `[${items.join(',')}]`, { weight: batchSize })],
  targets: [],
}
