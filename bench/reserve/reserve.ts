import { serviceFlags } from '../../bin/flags.js'
import type { Bench } from '../harness.ts'
import { workContender } from '../work.ts'

const contender = (name: string, orgs: number) =>
  workContender({
    name,
    program: new URL('../servers/reserve.ts', import.meta.url),
    flags: serviceFlags,
    params: async (resources) => ({ databaseUrl: (await resources.database()).url, orgs }),
  })

/** Each counter of an org is one row. Concurrent sends of that org must not queue for the lock on that row. */
export const reserve: Bench = {
  name: 'reserve',
  about:
    'Reserve the usage of one SMS (plan quota, spend, segments, per org and per key), for one org or for a hundred.',
  clients: [1, 10, 100],
  baseline: 'hundred-orgs',
  contenders: [contender('one-org', 1), contender('hundred-orgs', 100)],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 100, of: 'one-org', to: 'hundred-orgs', atLeast: 0.5 }],
}
