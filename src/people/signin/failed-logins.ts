import type { Audit } from '../../journal/audit/append.ts'
import type { Db } from '../../platform/db/pool.ts'
import { hourMs } from '../../platform/ground/units.ts'
import type { Background } from './background.ts'
import type { From } from './complete-sign-in.ts'
import { findFilingOrg } from './store/user-rows.ts'
import { addressBuckets, type Throttle } from './throttle.ts'

export type FailedLogin = { userId: string; email: string; stage: 'password' | 'code' | '2fa' }

/** Records a failed login of an existing account, after the response: neither its shape nor its time may depend on it. */
export type RecordFailedLogin = (failed: FailedLogin, from: From) => void

type Needs = { db: Db; audit: Audit; throttle: Throttle; background: Background }

/** More entries of one attacker would only make the log hard to read. */
const perHour = 10

export const makeRecordFailedLogin =
  ({ db, audit, throttle, background }: Needs): RecordFailedLogin =>
  ({ userId, email, stage }, { ip, userAgent }) =>
    background.run('recording a failed login', async () => {
      const filing = await db.row(findFilingOrg, { userId })
      if (!filing) return
      if (!(await throttle.allowsStrictly(...addressBuckets('failed-logins', ip, perHour, hourMs, email)))) return
      await db.tx((tx) =>
        audit(tx, {
          orgId: filing.org_id,
          // Nobody is signed in. The address in the metadata is what the attacker typed.
          actor: { kind: 'nobody', ip, userAgent },
          action: 'user.login_failed',
          resourceType: 'user',
          resourceId: userId,
          metadata: { email, ip, stage },
        }),
      )
    })
