/** Compares the acknowledgements that clients received with the final state of the database. */
import { until } from '../start/launched.ts'
import type { Load, Promised } from './load.ts'
import type { Service } from './service.ts'

export type CrashReport = {
  acknowledged: Record<Promised['how'], number>
  /** Requests without a response, and messages that were stored although the client got no response. */
  cut_off: number
  recorded_unanswered: number
  /** Messages that were handed over but not recorded, because the service was killed in between. */
  handed_over_unrecorded: number
  /** Rows whose claim expired, and those of them that were sent twice. */
  claims_gone_stale: number
  sent_twice_after_stale_claim: number
  used: number
  sent: number
  /** Reservations of killed services that were released or found recorded. */
  reservations_settled: number
  faults: string[]
}

const expectedStatus: Record<Promised['how'], string> = {
  single: 'sent',
  batch: 'sent',
  soon: 'sent',
  later: 'scheduled',
  failed: 'failed',
}

/** Runs the scheduler until no due message is left, except those whose claim belongs to a killed service. */
const sendDue = async (service: Service, except: ReadonlySet<string>): Promise<void> => {
  await until(
    'all due messages are sent',
    async () => {
      await service.ask('POST', '/api/dev/run', { task: 'scheduler' })
      const rows = await service.sql<{ id: string }>(
        `select id from messages
         where status = 'sending' or (status = 'scheduled' and scheduled_at < now() + interval '1 hour')`,
      )
      return rows.every(({ id }) => except.has(id))
    },
    60_000,
  )
}

/**
 * A claim of a killed service expires after five minutes. The running service must not hold any claim when the clock
 * moves, so its own messages are sent first.
 */
const settle = async (service: Service, stale: ReadonlySet<string>): Promise<number> => {
  await service.ask('POST', '/api/dev/clock', { advance_seconds: 5 })
  await sendDue(service, stale)
  await service.ask('POST', '/api/dev/clock', { advance_seconds: 301 })
  await sendDue(service, new Set())
  // Reservations expire after fifteen minutes.
  await service.ask('POST', '/api/dev/clock', { advance_seconds: 901 })
  const answer = await service.ask('POST', '/api/dev/run', { task: 'usage' })
  const body = answer?.body as { counts?: { reservations_settled: number } } | undefined
  return body?.counts?.reservations_settled ?? 0
}

/** Usage counts every message that was sent, once, and nothing else. Each message has one recipient. */
const checkUsage = async (service: Service, faults: string[]): Promise<{ used: number; sent: number }> => {
  const [counted] = await service.sql<{ used: number; sent: number; reserved: number }>(
    `select
       (select coalesce(sum(used), 0)::int from usage_counters
        where subject = 'org' and measure = 'email' and environment = 'live') as used,
       (select count(*)::int from messages where status in ('sent', 'delivered', 'bounced')) as sent,
       (select count(*)::int from usage_reservations) as reserved`,
  )
  const { used = 0, sent = 0, reserved } = counted ?? {}
  if (used !== sent) faults.push(`${sent} messages were sent and ${used} were counted`)
  if (reserved !== 0) faults.push(`${reserved} reservations were not settled`)
  return { used, sent }
}

/** The local outbox is written after the send, within milliseconds. A killed service loses what it has not written. */
const writtenWithinMs = 1_000

/** `killed` lists the times at which the service was killed. */
export const countOutcomes = async (
  service: Service,
  load: Load,
  stale: ReadonlySet<string>,
  killed: readonly number[] = [],
): Promise<CrashReport> => {
  const reservationsSettled = await settle(service, stale)
  const faults: string[] = []
  const messages = await service.sql<{ id: string; status: string; sent_at: Date | null }>(
    'select id, status, sent_at from messages',
  )
  const statuses = new Map(messages.map(({ id, status }) => [id, status]))
  const sentAt = new Map(messages.map(({ id, sent_at }) => [id, sent_at?.getTime() ?? 0]))
  const sentBeforeKill = (id: string) => {
    const at = sentAt.get(id) ?? 0
    return killed.some((kill) => kill >= at && kill - at < writtenWithinMs)
  }
  await service.ask('GET', '/api/dev/outbox?limit=1')
  const handed = new Map(
    (
      await service.sql<{ message_id: string; n: number }>(
        'select message_id, count(*)::int as n from local_outbox where message_id is not null group by 1',
      )
    ).map(({ message_id, n }) => [message_id, n]),
  )
  const sentEvents = new Map(
    (
      await service.sql<{ id: string; n: number }>(
        // An event is in the outbox or has become a delivery, never both.
        `select id, count(*)::int as n from (
           select data->>'message_id' as id from events where event = 'message.sent'
           union all
           select payload::jsonb->'data'->>'message_id' from webhook_deliveries where event = 'message.sent'
         ) as sent group by 1`,
      )
    ).map(({ id, n }) => [id, n]),
  )
  const acknowledged = { single: 0, batch: 0, soon: 0, later: 0, failed: 0 }
  for (const { id, how } of load.promised) {
    acknowledged[how]++
    const status = statuses.get(id)
    if (status !== expectedStatus[how]) faults.push(`${how} ${id} was acknowledged and is ${status ?? 'missing'}`)
    if (expectedStatus[how] === 'sent' && !handed.has(id) && !sentBeforeKill(id)) {
      faults.push(`${how} ${id} never reached the provider`)
    }
  }
  for (const [id, status] of statuses) {
    const events = sentEvents.get(id) ?? 0
    if (events !== (status === 'sent' ? 1 : 0)) faults.push(`${id} is ${status} and has ${events} message.sent events`)
  }
  const twice = [...handed].filter(([, n]) => n > 1).map(([id]) => id)
  for (const id of twice) if (!stale.has(id)) faults.push(`${id} was sent twice although its claim did not expire`)
  const { used, sent } = await checkUsage(service, faults)
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
    reservations_settled: reservationsSettled,
    faults,
  }
}
