/** Mails about the spend cap. */
import { statement } from '../../../platform/db/statement.ts'

type AlertMailKey = { orgId: string; period: string; threshold: number; userId: string }

export type AlertMailRow = {
  org_id: string
  period: string
  threshold: number
  user_id: string
  email: string
  org_name: string
  cap_micros: number
  spent_micros: number
}

/**
 * Claims the mails that are due, each for one owner. Claims of several processes do not overlap. A mail that was claimed
 * and not sent is due again when its claim has expired.
 */
export const claimAlertMails = statement<
  { since: Date; now: Date; until: Date; attempts: number; limit: number },
  AlertMailRow
>(
  'billing.claim_alert_mails',
  `with due as materialized (
     select distinct a.org_id, a.period, a.threshold, m.user_id, u.email, o.name, o.spend_cap_micros
     from usage_alerts a
       join orgs o on o.id = a.org_id and o.deleted_at is null and o.spend_cap_micros is not null
       join memberships m on m.org_id = a.org_id and m.role = 'owner' and m.created_at <= a.created_at
       join users u on u.id = m.user_id and u.email_verified_at is not null
       left join spend_alert_mails s on s.org_id = a.org_id and s.period = a.period and s.threshold = a.threshold
         and s.user_id = m.user_id
     where a.kind = 'spend_cap' and a.created_at > :since
       and (s.user_id is null or (s.sent_at is null and s.attempts < :attempts::int and s.claimed_until <= :now))
     order by a.org_id, a.period, a.threshold, m.user_id
     limit :limit
   ), claimed as (
     insert into spend_alert_mails as s (org_id, period, threshold, user_id, attempts, claimed_until)
     select org_id, period, threshold, user_id, 1, :until::timestamptz from due
     on conflict (org_id, period, threshold, user_id) do update
       set attempts = s.attempts + 1, claimed_until = excluded.claimed_until
       where s.sent_at is null and s.attempts < :attempts::int and s.claimed_until <= :now
     returning s.org_id, s.period, s.threshold, s.user_id
   )
   select c.org_id, c.period, c.threshold, c.user_id, d.email, d.name as org_name,
     d.spend_cap_micros as cap_micros, coalesce(u.used, 0) as spent_micros
   from claimed c
     join due d using (org_id, period, threshold, user_id)
     left join usage_counters u on u.org_id = c.org_id and u.subject = 'org' and u.environment = 'live'
       and u.measure = 'spend' and u.period = c.period
   order by c.org_id, c.period, c.threshold, c.user_id`,
)

export const markAlertMailed = statement<AlertMailKey & { at: Date }>(
  'billing.mark_alert_mailed',
  `update spend_alert_mails set sent_at = :at
   where org_id = :orgId and period = :period and threshold = :threshold and user_id = :userId`,
)
