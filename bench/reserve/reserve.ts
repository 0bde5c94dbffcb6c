import { serviceFlags } from '../../bin/flags.js'
import type { Bench } from '../harness.ts'
import { workContender } from '../work.ts'

const contender = (name: string, orgs: number) =>
  workContender({
    name,
    program: new URL('../servers/reserve.ts', import.meta.url),
    flags: serviceFlags,
    params: async (ground) => ({ databaseUrl: (await ground.database()).url, orgs }),
  })

/** One org's counters are one row each: however many send for it, they must not stand in a queue for that row. */
export const reserve: Bench = {
  name: 'reserve',
  about: 'Reserve what one SMS spends (plan quota, spend, segments, by org and by key), for one org or over a hundred.',
  clients: [1, 10, 100],
  baseline: 'hundred-orgs',
  contenders: [contender('one-org', 1), contender('hundred-orgs', 100)],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 100, of: 'one-org', to: 'hundred-orgs', atLeast: 0.5 }],
}
