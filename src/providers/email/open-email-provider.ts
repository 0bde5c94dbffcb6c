/** Combines the configured email providers into one. */
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import type { Config } from '../../ground/config/config.ts'
import type { Log } from '../../ground/log.ts'
import { type FailoverProvider, makeFailoverProvider } from '../failover.ts'
import { makeOutbox } from '../outbox/local-outbox.ts'
import type { EmailProvider, Mail } from './email-provider.ts'
import { makeLocalProvider } from './local.ts'
import { makeSesProvider } from './ses.ts'
import { makeSmtpProvider } from './smtp.ts'

type Needs = { config: Config; db: Db; clock: Clock; log: Log }

const makers: Record<Config['emailProviders'][number], (needs: Needs) => EmailProvider> = {
  local: ({ config: { serviceDomain }, db, clock, log }) =>
    makeLocalProvider({ outbox: makeOutbox({ db, log }), clock, serviceDomain }),
  smtp: ({ config, clock, log }) =>
    makeSmtpProvider({ url: config.smtpUrl ?? '', poolSize: config.smtpPoolSize, clock, log }),
  ses: ({ config }) =>
    makeSesProvider({
      region: config.sesRegion,
      configurationSet: config.sesConfigurationSet,
      endpoint: config.sesEndpoint,
    }),
}

export const openEmailProvider = (needs: Needs): FailoverProvider<Mail> => {
  const { config, clock, log } = needs
  // A provider that is configured twice is opened once: two instances would not share a pool or a circuit breaker.
  const names = [...new Set(config.emailProviders)]
  return makeFailoverProvider(
    names.map((name) => makers[name](needs)),
    { channel: 'email', clock, log },
  )
}
