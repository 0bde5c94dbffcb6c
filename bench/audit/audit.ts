import { serviceFlags } from '../../bin/flags.js'
import type { Bench } from '../harness.ts'
import { workContender } from '../work.ts'

const contender = (name: string, chained: boolean) =>
  workContender({
    name,
    program: new URL('../servers/audit.ts', import.meta.url),
    flags: serviceFlags,
    params: async (resources) => ({ databaseUrl: (await resources.database()).url, chained }),
  })

/** Entries are linked later, so that writers never wait for the chain. This shows what linking costs them. */
export const audit: Bench = {
  name: 'audit',
  about:
    'Write signed audit entries of one org, each in its own transaction; `chained` also links all of them within the measured time.',
  clients: [1, 10, 100],
  baseline: 'plain',
  contenders: [contender('chained', true), contender('plain', false)],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 100, of: 'chained', to: 'plain', atLeast: 0.7 }],
}
