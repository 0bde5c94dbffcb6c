/** Chooses the registry of live senders. Everything that test-mode keys register is simulated. */
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import type { Config } from '../../ground/config/config.ts'
import type { Environment } from '../../ground/scope.ts'
import { makeLocalRegistry } from './local-registry.ts'
import type { SmsRegistry } from './sms-registry.ts'

export interface SmsRegistries {
  /** Undefined when the providers of this installation have no registry, as with `smpp` alone. */
  of(environment: Environment): SmsRegistry | undefined
  close(): Promise<void>
}

type Needs = { config: Config; db: Db; clock: Clock }

export const openSmsRegistries = ({ config, db, clock }: Needs): SmsRegistries => {
  const simulated = makeLocalRegistry({ db, clock })
  const live = config.smsProviders.includes('local') ? simulated : undefined
  return {
    of: (environment) => (environment === 'test' ? simulated : live),
    close: async () => {
      await Promise.all([simulated.close(), live?.close()])
    },
  }
}
