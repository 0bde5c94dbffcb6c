/** Combines the configured SMS providers into one. */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Config } from '../../platform/ground/config/config.ts'
import type { Log } from '../../platform/ground/log.ts'
import { type FailoverProvider, type MeasureHandover, makeFailoverProvider } from '../failover.ts'
import type { Outbox } from '../outbox/local-outbox.ts'
import { makeAwsSmsProvider } from './aws-sms.ts'
import { makeLocalSmsProvider } from './local-sms.ts'
import { makeSmppReceipts, type ReportSms } from './smpp/receipts.ts'
import { makeSmppProvider } from './smpp/smpp-provider.ts'
import type { OnInbound, Sms, SmsProvider } from './sms-provider.ts'

type Needs = {
  config: Config
  db: Db
  outbox: Outbox
  clock: Clock
  log: Log
  /** Takes the outcomes of messages that a provider reports over its own connection. */
  report: ReportSms
  /** Takes the messages of phones that arrive over such a connection. */
  onInbound?: OnInbound
  measure?: MeasureHandover
}

const makers: Record<Config['smsProviders'][number], (needs: Needs) => SmsProvider> = {
  local: ({ outbox, clock }) => makeLocalSmsProvider({ outbox, clock }),
  aws: ({ config }) =>
    makeAwsSmsProvider({
      region: config.awsRegion,
      configurationSet: config.smsConfigurationSet,
      endpoint: config.awsEndpoint,
    }),
  smpp: ({ config, db, clock, log, report, onInbound }) =>
    makeSmppProvider({
      url: config.smppUrl ?? '',
      clock,
      log,
      receipts: makeSmppReceipts({ db, clock, log, report }),
      onInbound,
    }),
}

export const openSmsProvider = (needs: Needs): FailoverProvider<Sms> => {
  // A provider that is configured twice is opened once: two instances would not share a bind or a circuit breaker.
  const names = [...new Set(needs.config.smsProviders)]
  const providers = names.map((name) => makers[name](needs))
  return makeFailoverProvider(providers, { channel: 'sms', ...needs })
}
