/** Combines the configured email providers into one. */
import type { Clock } from '../../platform/ground/clock.ts'
import type { Config } from '../../platform/ground/config/config.ts'
import type { Log } from '../../platform/ground/log.ts'
import { type FailoverProvider, type MeasureHandover, makeFailoverProvider } from '../failover.ts'
import type { Outbox } from '../outbox/local-outbox.ts'
import type { DomainIdentities } from './domain-identities.ts'
import type { EmailProvider, Mail } from './email-provider.ts'
import { makeLocalProvider } from './local.ts'
import { makeSesProvider } from './ses.ts'
import { makeSesIdentities } from './ses-identities.ts'
import { makeSmtpProvider } from './smtp.ts'

type Needs = { config: Config; outbox: Outbox; clock: Clock; log: Log; measure?: MeasureHandover }

const makers: Record<Config['emailProviders'][number], (needs: Needs) => EmailProvider> = {
  local: ({ config: { serviceDomain }, outbox, clock }) => makeLocalProvider({ outbox, clock, serviceDomain }),
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
  // A provider that is configured twice is opened once: two instances would not share a pool or a circuit breaker.
  const names = [...new Set(needs.config.emailProviders)]
  const providers = names.map((name) => makers[name](needs))
  return makeFailoverProvider(providers, { channel: 'email', ...needs })
}

/** Undefined when no provider has to know the domains that it sends from. Next to the local provider, none has to. */
export const openDomainIdentities = (config: Config): DomainIdentities | undefined =>
  config.emailProviders.includes('ses') && !config.emailProviders.includes('local')
    ? makeSesIdentities({ endpoint: config.sesEndpoint, configurationSet: config.sesConfigurationSet })
    : undefined
