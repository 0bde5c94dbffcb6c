/** After the load: finishes what is still under way, and reads what the service stored. */
import { until } from '../start/launched.ts'
import type { Clients } from './clients.ts'
import type { Cluster } from './cluster.ts'
import type { Stored } from './judge.ts'
import type { Sinks } from './sinks.ts'

/** An interrupted blast keeps its key for 330 seconds. Claims of workers last five minutes, reservations fifteen. */
const [lockSeconds, claimSeconds, reservationSeconds] = [331, 301, 901]

const finishBlasts = async (clients: Clients): Promise<void> => {
  for (const [i, { operation, result }] of clients.outcomes.entries()) {
    if (result === 'unfinished' && operation.way === 'blast') clients.outcomes[i] = await clients.perform(operation)
  }
}

export const settle = async (cluster: Cluster, clients: Clients, sinks: Sinks): Promise<void> => {
  await cluster.asOneProcess()
  const tool = async (path: string, body: object): Promise<void> => {
    const answer = await fetch(`${cluster.urls[0]}/api/dev/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  }
  const sendDue = async (): Promise<void> => {
    await until(
      'all messages are sent',
      async () => {
        await tool('run', { task: 'scheduler' })
        const rows = await cluster.sql("select id from messages where status in ('scheduled', 'sending') limit 1")
        return rows.length === 0
      },
      120_000,
    )
  }
  await tool('clock', { advance_seconds: claimSeconds })
  await sendDue()
  await tool('clock', { advance_seconds: lockSeconds })
  await finishBlasts(clients)
  await tool('clock', { advance_seconds: reservationSeconds })
  await sendDue()
  await tool('run', { task: 'usage' })
  await until(
    'all events are delivered',
    async () => {
      await tool('run', { task: 'webhooks' })
      const [open] = await cluster.sql<{ n: number }>(
        `select (select count(*)::int from events)
           + (select count(*)::int from webhook_deliveries where status = 'pending') as n`,
      )
      return open?.n === 0 && sinks.deliveries.size > 0
    },
    120_000,
  )
}

export const readStored = async ({ sql, firstRun }: Cluster): Promise<Stored> => {
  const orgId = [firstRun.org.id]
  const [used] = await sql<{ email: number; sms: number; open: number }>(
    `select
       coalesce(sum(used) filter (where measure = 'email'), 0)::int as email,
       coalesce(sum(used) filter (where measure = 'sms'), 0)::int as sms,
       (select count(*)::int from usage_reservations where org_id = $1) as open
     from usage_counters where org_id = $1 and subject = 'org' and environment = 'live'`,
    orgId,
  )
  return {
    messages: await sql(
      `select id, channel, status, job_id, to_addresses,
         array(select h ->> 'detail' from jsonb_array_elements(history) h) as details
       from messages where org_id = $1`,
      orgId,
    ),
    jobs: await sql('select id from jobs where org_id = $1', orgId),
    verifications: await sql('select id, channel, destination from verifications where org_id = $1', orgId),
    entries: await sql(
      `select action, resource_id, (metadata ->> 'count')::int as count from audit_entries where org_id = $1`,
      orgId,
    ),
    sentEvents: await sql(
      `select id, payload::jsonb -> 'data' ->> 'message_id' as message_id
       from webhook_deliveries where org_id = $1 and event = 'message.sent'`,
      orgId,
    ),
    used: { email: used?.email ?? 0, sms: used?.sms ?? 0 },
    openReservations: used?.open ?? 0,
  }
}
