import { serviceFlags } from '../../bin/flags.js'
import type { Bench } from '../harness.ts'
import type { WebhookParams } from '../servers/webhooks.ts'
import { workContender } from '../work.ts'

const contender = (name: string, params: Partial<WebhookParams> & Pick<WebhookParams, 'contender'>) =>
  workContender({
    name,
    program: new URL('../servers/webhooks.ts', import.meta.url),
    flags: serviceFlags,
    params: async (resources) => ({
      databaseUrl: (await resources.database()).url,
      healthy: 20,
      hanging: 0,
      failing: 0,
      backlog: 0,
      ...params,
    }),
  })

/** Compares a delivery (claim, three signatures, URL check, request, record) with only signing and posting. */
export const deliverWebhooks: Bench = {
  name: 'webhooks-deliver',
  about: 'Deliver to 20 healthy endpoints on loopback; `bare-undici` only signs and posts the same bodies.',
  clients: [10, 100],
  baseline: 'bare-undici',
  contenders: [
    contender('service', { contender: 'service', backlog: 12_000 }),
    contender('bare-undici', { contender: 'bare' }),
  ],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 100, of: 'service', to: 'bare-undici', atLeast: 0.5 }],
}

export const failingWebhooks: Bench = {
  name: 'webhooks-failing',
  about:
    'Deliver to 60 healthy endpoints; `among-failing` has 20 more that never respond and 20 that respond with 500.',
  clients: [100],
  // The turns of a single contender vary by about a tenth.
  rounds: 9,
  baseline: 'all-healthy',
  contenders: [
    contender('among-failing', { contender: 'service', healthy: 60, hanging: 20, failing: 20, backlog: 2_000 }),
    contender('all-healthy', { contender: 'service', healthy: 60, backlog: 2_000 }),
  ],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 100, of: 'among-failing', to: 'all-healthy', atLeast: 0.9 }],
}

export const idleWebhooks: Bench = {
  name: 'webhooks-idle',
  about:
    'The time from an event in the outbox of an idle service to the response to its first attempt; see p50. The worker runs in the process that writes the event, or in another service on the same database, which NOTIFY reaches.',
  clients: [1],
  baseline: 'service',
  contenders: [
    contender('service', { contender: 'idle', healthy: 1 }),
    contender('separate-worker', { contender: 'idle-separate', healthy: 1 }),
  ],
  targets: [
    { kind: 'p50', clients: 1, of: 'service', atMost: 20 },
    { kind: 'p50', clients: 1, of: 'separate-worker', atMost: 20 },
  ],
}

const claims = (name: string, pending: number) =>
  workContender({
    name,
    program: new URL('../servers/webhooks-claim.ts', import.meta.url),
    flags: serviceFlags,
    params: async (resources) => ({ databaseUrl: (await resources.database()).url, pending }),
  })

export const claimWebhooks: Bench = {
  name: 'webhooks-claim',
  about: 'Lease the queue of an endpoint, read its first 20 due deliveries, and release it.',
  clients: [1],
  baseline: 'ten-thousand',
  contenders: [claims('a-million', 1_000_000), claims('ten-thousand', 10_000)],
  targets: [{ kind: 'ratio', figure: 'p50Ms', clients: 1, of: 'a-million', to: 'ten-thousand', atMost: 1.5 }],
}
