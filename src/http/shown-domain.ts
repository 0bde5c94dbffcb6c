import type { z } from 'zod'
import type { DomainView } from '../domains/manage.ts'
import { type MailHosts, recordsOf } from '../domains/records.ts'
import type { Domain } from '../domains/shapes.ts'
import { warmupCap, warmupDay, warmupEnd } from '../domains/warmup.ts'

type Shown = z.output<typeof Domain>

const showWarmup = ({ row, sentToday, at }: DomainView): Shown['warmup'] => {
  if (row.warmup_days === null || row.warmup_started_at === null) return null
  const warmup = { days: row.warmup_days, startedAt: row.warmup_started_at }
  const cap = warmupCap(warmup, at)
  if (cap === null) return null
  return {
    status: 'active',
    days: warmup.days,
    day: Math.max(0, warmupDay(warmup, at)),
    daily_cap: cap,
    sent_today: sentToday,
    started_at: warmup.startedAt.toISOString(),
    ends_at: warmupEnd(warmup).toISOString(),
  }
}

/** A domain as the API and the dashboard show it. */
export const makeShowDomain =
  (hosts: MailHosts) =>
  (view: DomainView): Shown => {
    const { row } = view
    return {
      id: row.id,
      name: row.name,
      status: row.status,
      dkim_status: row.dkim_status,
      region: row.region,
      project_id: row.project_id,
      tenant_id: row.tenant_id,
      ip_pool_id: row.ip_pool_id,
      inbound: row.inbound,
      warmup: showWarmup(view),
      created_at: row.created_at.toISOString(),
      verified_at: row.verified_at?.toISOString() ?? null,
      last_checked_at: row.last_checked_at?.toISOString() ?? null,
      records: recordsOf(row, hosts).map((record) => ({
        ...record,
        status: row.record_statuses[record.record] ?? 'pending',
      })),
    }
  }

/** Views with the columns that a page is cut by. */
export const listedDomains = (views: DomainView[]) =>
  views.map((view) => ({ ...view, id: view.row.id, created_at: view.row.created_at }))
