/** Mails owners when the spend of the month reaches 80 and 100 percent of the cap. */
import { usd } from '../../customers/usage/read.ts'
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { HandOverMail } from '../signin/hand-over-mail.ts'
import { composeMail, type MailContent } from '../signin/mail-templates.ts'
import { type AlertMailRow, claimAlertMails, markAlertMailed } from './store/alert-mail-rows.ts'

const batch = 50
const attempts = 5
/** Longer than a hand-over takes. A mail that failed waits as long. */
const claimMs = 10 * 60_000
/** An older alert is no news. */
const newsMs = 7 * 86_400_000

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 80)

export const spendAlertContent = (baseUrl: string, row: AlertMailRow): MailContent => {
  const org = oneLine(row.org_name)
  const reached = row.threshold >= 100
  const rest = reached
    ? 'Messages that cost something are refused until you raise the cap or the next month begins. Scheduled messages wait.'
    : 'When the cap is reached, messages that cost something are refused, and scheduled messages wait.'
  return composeMail(`${org} has reached ${row.threshold} percent of its spend cap`, [
    {
      say: `${org} has spent $${usd(row.spent_micros, 2)} of its cap of $${usd(row.cap_micros, 2)} in ${row.period}.`,
    },
    { say: rest },
    { button: 'Open billing', url: `${baseUrl}/settings/billing` },
    { small: 'All owners get this mail, once a month for each of 80 and 100 percent.' },
  ])
}

type Needs = StoreNeeds & { log: Log; mail: HandOverMail; baseUrl: () => string }

/** Returns how many mails were sent. */
export const makeMailSpendAlerts = ({ db, clock, log, mail, baseUrl }: Needs) => {
  const sendOne = async (row: AlertMailRow): Promise<boolean> => {
    const { org_id: orgId, period, threshold, user_id: userId, email } = row
    try {
      await mail(email, orgId, spendAlertContent(baseUrl(), row))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      log.warn({ org_id: orgId, period, threshold }, 'spend alert not mailed')
      return false
    }
    await db.change(markAlertMailed, { orgId, period, threshold, userId, at: clock.now() })
    return true
  }

  return async (): Promise<number> => {
    let sent = 0
    for (;;) {
      const now = clock.now()
      const until = new Date(now.getTime() + claimMs)
      const since = new Date(now.getTime() - newsMs)
      const rows = await db.rows(claimAlertMails, { since, now, until, attempts, limit: batch })
      for (const row of rows) if (await sendOne(row)) sent++
      if (rows.length < batch) return sent
    }
  }
}
