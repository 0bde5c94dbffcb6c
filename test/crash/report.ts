/** Holds what clients were told against what is there in the end. */
import { until } from '../start/launched.ts'
import type { Load, Promised } from './load.ts'
import type { Service } from './service.ts'

export type CrashReport = {
  acknowledged: Record<Promised['how'], number>
  /** Requests without an answer, and messages of theirs that are there nevertheless. */
  cut_off: number
  recorded_unanswered: number
  /** Handed to the provider, then killed before it was written down. */
  handed_over_unrecorded: number
  /** Rows whose claim went stale, and those of them that the provider got twice. */
  claims_gone_stale: number
  sent_twice_after_stale_claim: number
  used: number
  sent: number
  faults: string[]
}

const due: Record<Promised['how'], string> = {
  single: 'sent',
  batch: 'sent',
  soon: 'sent',
  later: 'scheduled',
  failed: 'failed',
}

/** Until nothing that is due is left but these, which the running service does not hold. */
const workOff = async (service: Service, but: ReadonlySet<string>): Promise<void> => {
  await until(
    'what was due is sent',
    async () => {
      await service.ask('POST', '/api/dev/run', { task: 'scheduler' })
      const rows = await service.sql<{ id: string }>(
        `select id from messages
         where status = 'sending' or (status = 'scheduled' and scheduled_at < now() + interval '1 hour')`,
      )
      return rows.every(({ id }) => but.has(id))
    },
    60_000,
  )
}

/** A claim of a killed service is stale after five minutes; no living one may hold any when the clock is moved. */
const settle = async (service: Service, stale: ReadonlySet<string>): Promise<void> => {
  await service.ask('POST', '/api/dev/clock', { advance_seconds: 5 })
  await workOff(service, stale)
  await service.ask('POST', '/api/dev/clock', { advance_seconds: 301 })
  await workOff(service, new Set())
}

export const countOutcomes = async (service: Service, load: Load, stale: ReadonlySet<string>): Promise<CrashReport> => {
  await settle(service, stale)
  const faults: string[] = []
  const messages = await service.sql<{ id: string; status: string }>('select id, status from messages')
  const statuses = new Map(messages.map(({ id, status }) => [id, status]))
  const handed = new Map(
    (
      await service.sql<{ message_id: string; n: number }>(
        'select message_id, count(*)::int as n from local_outbox where message_id is not null group by 1',
      )
    ).map(({ message_id, n }) => [message_id, n]),
  )
  const told = new Map(
    (
      await service.sql<{ id: string; n: number }>(
        // An event waits in the outbox or has become a delivery, never both.
        `select id, count(*)::int as n from (
           select data->>'message_id' as id from events where event = 'message.sent'
           union all
           select payload::jsonb->'data'->>'message_id' from webhook_deliveries where event = 'message.sent'
         ) as told group by 1`,
      )
    ).map(({ id, n }) => [id, n]),
  )
  const acknowledged = { single: 0, batch: 0, soon: 0, later: 0, failed: 0 }
  for (const { id, how } of load.promised) {
    acknowledged[how]++
    const status = statuses.get(id)
    if (status !== due[how]) faults.push(`${how} ${id} was acknowledged and is ${status ?? 'not there'}`)
    if (due[how] === 'sent' && !handed.has(id)) faults.push(`${how} ${id} never reached the provider`)
  }
  for (const [id, status] of statuses) {
    const events = told.get(id) ?? 0
    if (events !== (status === 'sent' ? 1 : 0)) faults.push(`${id} is ${status} and was told as sent ${events} times`)
  }
  const twice = [...handed].filter(([, n]) => n > 1).map(([id]) => id)
  for (const id of twice) if (!stale.has(id)) faults.push(`${id} was sent twice though nobody lost its claim`)
  const [counter] = await service.sql<{ used: number }>(
    `select coalesce(sum(used), 0)::int as used from usage_counters
     where subject = 'org' and measure = 'email' and environment = 'live'`,
  )
  const used = counter?.used ?? 0
  const sent = messages.filter(({ status }) => status === 'sent').length
  if (used < sent) faults.push(`${sent} were sent and only ${used} counted`)
  const promised = new Set(load.promised.map(({ id }) => id))
  return {
    acknowledged,
    cut_off: load.cutOff,
    recorded_unanswered: messages.filter(({ id }) => !promised.has(id)).length,
    handed_over_unrecorded: [...handed.keys()].filter((id) => !statuses.has(id)).length,
    claims_gone_stale: stale.size,
    sent_twice_after_stale_claim: twice.length,
    used,
    sent,
    faults,
  }
}
