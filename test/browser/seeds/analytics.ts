import type { Seed } from '../every-page.ts'

const days = 45

/** Figures of past days with a weekly rhythm, some of them from a job. */
const seedAnalytics: Seed = async ({ t, org }) => {
  const now = t.service.clock.now()
  const add = (part: string, jobId: string, share: number) =>
    t.database.sql(
      `insert into analytics_days (org_id, environment, tenant_id, part, day, job_id, variant, project_id,
         sent, delivered, bounced, failed, complained, opened, clicked, unsubscribed)
       select $1, 'live', '', $2, ($3::timestamptz at time zone 'UTC')::date - n, $4, '', '', sent, sent - sent / 40 - 1,
         sent / 40, 1, sent / 300, sent / 3, sent / 11, sent / 90
       from generate_series(0, $5::int) as n,
         lateral (select floor($6 * (220 + 90 * sin(n * 0.9) + 3 * (n % 7) * (n % 5)))::int as sent) as s`,
      [org.org.id, part, now, jobId, days, share],
    )
  await add('other', '', 1)
  await add('other_email', '', 0.8)
  await add('other_sms', '', 0.2)
  await add('jobs', '', 0.3)
  await add('jobs_email', '', 0.3)
  await add('job', 'job_01k5w3v8q6e9rbx2t7m4n0c1yz', 0.3)
  return { '/analytics': ['/analytics'] }
}

export default seedAnalytics
