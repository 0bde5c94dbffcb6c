import type { z } from 'zod'
import type { DomainView } from '../../senders/domains/manage.ts'
import { type MailHosts, recordsOf } from '../../senders/domains/records.ts'
import { Domain } from '../../senders/domains/shapes.ts'
import { warmupCap, warmupDay, warmupEnd } from '../../senders/domains/warmup.ts'
import { resource, shownAs } from './shown-resource.ts'

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

const makeShow = (hosts: MailHosts) => {
  const shown = shownAs(Domain)
  return (view: DomainView): Shown =>
    shown({
      ...view.row,
      warmup: showWarmup(view),
      records: recordsOf(view.row, hosts).map((record) => ({
        ...record,
        status: view.row.record_statuses[record.record] ?? 'pending',
      })),
    })
}

/** Domains as the API and the dashboard show them. */
export const describedDomains = (hosts: MailHosts) =>
  resource({ kind: 'domain', one: 'domain', many: 'domains', item: Domain, show: makeShow(hosts) })

/** Views with the columns that a page is cut by. */
export const listedDomains = (views: DomainView[]) =>
  views.map((view) => ({ ...view, id: view.row.id, created_at: view.row.created_at }))
