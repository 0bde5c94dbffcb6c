/** Builds the module: starting and checking codes, reports about them, and retention. */
import type { Usage } from '../../customers/usage/reserve.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { hourMs } from '../../platform/ground/units.ts'
import type { Suppress } from '../../recipients/suppressions/suppress.ts'
import type { Messages } from '../messages/open-messages.ts'
import { makeAdmitStart } from './admit-start.ts'
import { makeCheckCode } from './check-code.ts'
import { makeCodeOutcomes } from './code-outcomes.ts'
import { makeOneTimeCodes } from './one-time-code.ts'
import { makeVerificationRetention } from './retention.ts'
import { makeSendCode } from './send-code.ts'
import { makeStartCode } from './start.ts'
import { eraseTenantVerifications } from './store.ts'

type Needs = {
  db: Db
  clock: Clock
  log: Log
  usage: Usage
  suppress: Suppress
  messages: Messages
  masterKey: Buffer
  previousMasterKeys: Buffer[]
  /** The time that the hourly ceilings cover. */
  windowMs?: number | undefined
}

export const openVerifications = (needs: Needs) => {
  const { messages, windowMs = hourMs } = needs
  const { codes } = messages
  const hashes = makeOneTimeCodes({ masterKey: needs.masterKey, previous: needs.previousMasterKeys })
  /** For reports about messages and codes alike. */
  const outcomes = makeCodeOutcomes({ ...needs, messages: messages.outcomes })
  const { suppressRefused } = codes
  const send = makeSendCode({ ...needs, applyReports: outcomes.applyInBackground, suppressRefused })
  return {
    outcomes,
    start: makeStartCode({ ...needs, codes, hashes, admit: makeAdmitStart({ ...needs, windowMs }), send }),
    check: makeCheckCode({ ...needs, hashes }),
    retention: makeVerificationRetention(needs),
    eraseForTenant: (tx: Pick<Db, 'change'>, rows: { orgId: string; tenantId: string; limit: number }) =>
      tx.change(eraseTenantVerifications, rows),
  }
}

export type Verifications = ReturnType<typeof openVerifications>
