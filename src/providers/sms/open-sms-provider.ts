/** Combines the configured SMS providers into one. */
import type { Clock } from '../../ground/clock.ts'
import type { Outbox } from '../outbox/local-outbox.ts'
import { makeLocalSmsProvider } from './local-sms.ts'
import type { SmsProvider } from './sms-provider.ts'

type Needs = { outbox: Outbox; clock: Clock }

export const openSmsProvider = ({ outbox, clock }: Needs): SmsProvider => makeLocalSmsProvider({ outbox, clock })
