/** Chooses the registry of live senders. Everything that test-mode keys register is simulated. */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Config } from '../../platform/ground/config/config.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import type { FetchFile } from './aws-form.ts'
import { makeAwsRegistry } from './aws-registry.ts'
import { makeLocalRegistry } from './local-registry.ts'
import type { SmsRegistry } from './sms-registry.ts'

type Needs = { config: Config; db: Db; clock: Clock; log: Log; fetchFile: FetchFile }

export const openSmsRegistries = ({ config, db, clock, log, fetchFile }: Needs) => {
  const simulated = makeLocalRegistry({ db, clock })
  const { smsProviders, awsRegion: region, awsEndpoint: endpoint } = config
  const aws = smsProviders.includes('aws') ? makeAwsRegistry({ region, endpoint, log, fetchFile }) : undefined
  const live = aws ?? (smsProviders.includes('local') ? simulated : undefined)
  return {
    /** Undefined when the providers of this installation have no registry, as with `smpp` alone. */
    of: (environment: Environment): SmsRegistry | undefined => (environment === 'test' ? simulated : live),
    close: async (): Promise<void> => {
      await Promise.all([simulated.close(), aws?.close()])
    },
  }
}

export type SmsRegistries = ReturnType<typeof openSmsRegistries>
