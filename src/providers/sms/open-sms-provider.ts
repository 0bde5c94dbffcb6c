/** Combines the configured SMS providers into one. */
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import type { Config } from '../../ground/config/config.ts'
import type { Log } from '../../ground/log.ts'
import { makeOutbox } from '../outbox/local-outbox.ts'
import { makeLocalSmsProvider } from './local-sms.ts'
import type { SmsProvider } from './sms-provider.ts'

type Needs = { config: Config; db: Db; clock: Clock; log: Log }

export const openSmsProvider = ({ db, clock, log }: Needs): SmsProvider =>
  makeLocalSmsProvider({ outbox: makeOutbox({ db, log }), clock })
