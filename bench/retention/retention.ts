import { serviceFlags } from '../../bin/flags.js'
import type { Bench, Contender } from '../harness.ts'
import { workContender } from '../work.ts'

const many = 10_000_000
const manyWhenQuick = 20_000

const contender = (name: 'drop' | 'empty' | 'delete'): Contender =>
  workContender({
    name,
    program: new URL('../servers/retention.ts', import.meta.url),
    flags: serviceFlags,
    params: async (resources) => ({
      databaseUrl: (await resources.database(name)).url,
      messages: resources.quick ? manyWhenQuick : many,
      how: name,
    }),
  })

/** A month takes minutes to fill, so there is one round. Only one month exists at a time, of about 10 GB. */
export const retention: Bench = {
  name: 'retention',
  about:
    'Remove a month of 10,000,000 messages, counted in messages; p50 and p99 are those of four clients that send emails meanwhile. From `drop` all of them go. Of `empty` 1,000 are scheduled and stay, so it is emptied and gets these back. Of `delete` 10,000 stay, so its rows are deleted, a few thousand at a time, and it needs a vacuum.',
  clients: [4],
  rounds: 1,
  baseline: 'delete',
  contenders: [contender('drop'), contender('empty'), contender('delete')],
  targets: [
    { kind: 'ratio', figure: 'perSecond', clients: 4, of: 'drop', to: 'delete', atLeast: 2 },
    { kind: 'ratio', figure: 'perSecond', clients: 4, of: 'empty', to: 'delete', atLeast: 2 },
  ],
}
