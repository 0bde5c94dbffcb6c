import { serviceFlags } from '../../bin/flags.js'
import type { Bench } from '../harness.ts'
import { workContender } from '../work.ts'

const contender = (name: string, chained: boolean) =>
  workContender({
    name,
    program: new URL('../servers/audit.ts', import.meta.url),
    flags: serviceFlags,
    params: async (ground) => ({ databaseUrl: (await ground.database()).url, chained }),
  })

/** Linking happens after the fact, so that writers never wait for the chain; what it costs them is shown here. */
export const audit: Bench = {
  name: 'audit',
  about:
    'Write a signed audit entry of one org in a transaction of its own; `chained` links all of them meanwhile and in the time.',
  clients: [1, 10, 100],
  baseline: 'plain',
  contenders: [contender('chained', true), contender('plain', false)],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 100, of: 'chained', to: 'plain', atLeast: 0.7 }],
}
