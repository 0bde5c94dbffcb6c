/** Builds the module: starting and checking codes, reports about them, and retention. */

import type { Usage } from '../../customers/usage/reserve.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Suppress } from '../../recipients/suppressions/suppress.ts'
import type { Messages } from '../messages/open-messages.ts'
import { makeAdmitStart } from './admit-start.ts'
import { hour } from './ceilings.ts'
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
  const { db, clock, log, usage, suppress, messages, windowMs = hour } = needs
  const { codes } = messages
  const hashes = makeOneTimeCodes({ masterKey: needs.masterKey, previous: needs.previousMasterKeys })
  /** For reports about messages and codes alike. */
  const outcomes = makeCodeOutcomes({ db, clock, log, suppress, messages: messages.outcomes })
  const send = makeSendCode({
    db,
    log,
    usage,
    applyReports: outcomes.applyInBackground,
    suppressRefused: codes.suppressRefused,
  })
  return {
    outcomes,
    start: makeStartCode({
      db,
      clock,
      usage,
      codes,
      hashes,
      admit: makeAdmitStart({ db, clock, usage, windowMs }),
      send,
    }),
    check: makeCheckCode({ db, clock, hashes }),
    retention: makeVerificationRetention({ db, clock }),
    eraseForTenant: (tx: Pick<Db, 'change'>, rows: { orgId: string; tenantId: string; limit: number }) =>
      tx.change(eraseTenantVerifications, rows),
  }
}

export type Verifications = ReturnType<typeof openVerifications>
