import type { z } from 'zod'
import type { Job } from '../blasts/shapes.ts'
import type { CountedJob } from '../blasts/store/job-rows.ts'

const noMessages = { scheduled: 0, sending: 0, sent: 0, delivered: 0, bounced: 0, failed: 0, canceled: 0 }

export const shownJob = (row: CountedJob): z.output<typeof Job> => ({
  id: row.id,
  audience_id: row.audience_id,
  channel: row.channel,
  status: row.status,
  incomplete: row.incomplete,
  from: row.from_address,
  template: row.template,
  total: row.total,
  scheduled: row.scheduled,
  suppressed: row.suppressed,
  deferred_quiet_hours: row.deferred_quiet_hours,
  counts: { ...noMessages, ...row.counts },
  winner: row.winner,
  starts_at: row.starts_at?.toISOString() ?? null,
  ends_at: row.ends_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  started_at: row.started_at?.toISOString() ?? null,
  completed_at: row.completed_at?.toISOString() ?? null,
  canceled_at: row.canceled_at?.toISOString() ?? null,
  tenant_id: row.tenant_id,
})
