import { serviceFlags } from '../../bin/flags.js'
import type { Bench, Contender } from '../harness.ts'
import { workContender } from '../work.ts'

const many = 10_000_000
const manyWhenQuick = 8_000

const reading = (name: string, read: 'row' | 'days' | 'jobs'): Contender =>
  workContender({
    name,
    program: new URL('../servers/analytics.ts', import.meta.url),
    flags: serviceFlags,
    params: async (resources) => ({
      databaseUrl: (await resources.database(name)).url,
      read,
      events: resources.quick ? manyWhenQuick : many,
    }),
  })

export const analytics: Bench = {
  name: 'analytics',
  about: 'Read the figures of 30 days after ten million events; the baseline reads one message by its id.',
  clients: [10],
  baseline: 'row',
  contenders: [reading('row', 'row'), reading('days', 'days'), reading('jobs', 'jobs')],
  targets: [
    { kind: 'ratio', figure: 'p50Ms', clients: 10, of: 'days', to: 'row', atMost: 3 },
    { kind: 'ratio', figure: 'p50Ms', clients: 10, of: 'jobs', to: 'row', atMost: 3 },
  ],
}
