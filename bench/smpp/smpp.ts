import { serviceFlags } from '../../bin/flags.js'
import type { Bench, Resources } from '../harness.ts'
import type { SmppParams } from '../servers/smpp.ts'
import { workContender } from '../work.ts'

const contender = (name: string, params: (resources: Resources) => Promise<SmppParams>) =>
  workContender({ name, program: new URL('../servers/smpp.ts', import.meta.url), flags: serviceFlags, params })

/** A hundred clients keep the window full. */
export const smpp: Bench = {
  name: 'smpp',
  about:
    'Submit a short text over one SMPP bind with a window of 100, to a message centre in another thread that accepts everything: with the package alone, with the provider, and with the provider that stores the ids for receipts.',
  clients: [1, 100],
  baseline: 'package',
  contenders: [
    contender('package', async () => ({ by: 'package' })),
    contender('provider', async () => ({ by: 'provider' })),
    contender('stored', async ({ database }) => ({ by: 'stored', databaseUrl: (await database()).url })),
  ],
  targets: [
    { kind: 'rate', clients: 100, of: 'provider', atLeast: 2_000 },
    { kind: 'rate', clients: 100, of: 'stored', atLeast: 2_000 },
    { kind: 'ratio', figure: 'perSecond', clients: 100, of: 'provider', to: 'package', atLeast: 0.5 },
  ],
}
