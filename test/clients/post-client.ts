/** Test helpers: send messages as a client of one org, and read the rows, events and mails that result. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { onTestFinished } from 'vitest'
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import { newId, timeOfId } from '../../src/platform/ground/ids.ts'
import { messageColumnsOf } from '../../src/sending/messages/store/message-row.ts'
import type { Reply, TestService } from '../service/service.ts'

export type ReportedEvent = {
  event: string
  data: Record<string, unknown>
  tenant_id: string | null
  environment: string
}

/** The columns that tests read. Every column is selected, so that whole rows can be compared. */
export type StoredMessage = {
  id: string
  status: string
  due_at: Date | null
  claim: string | null
  attempts: number
  error_message: string | null
  scheduled_at: Date | null
  sent_at: Date | null
  canceled_at: Date | null
  history: { status: string; recipient?: string }[]
}

/** Scheduled messages that are inserted directly into the table, for tests that need many of them. */
export type ScheduledMessages = { orgId: string; dueAt: Date; to?: (n: number) => string; tenantId?: string | null }

export const insertScheduled = async (
  { database, service }: TestService,
  n: number,
  { orgId, dueAt, to = (i) => `reader${i}@reader.test`, tenantId = null }: ScheduledMessages,
): Promise<string[]> => {
  const ids = Array.from({ length: n }, () => newId('message', service.clock.millis()))
  await database.sql(
    `insert into messages (org_id, id, created_at, tenant_id, environment, project_id, channel, status, from_address,
       to_addresses, subject, text, scheduled_at, due_at, history)
     select $1, r.id, r.at, $2, 'live', (select id from projects where org_id = $1 and is_default), 'email',
       'scheduled', 'hello@example.test', array[r.address], 'A subject', 'Hi', $6, $6, '[]'
     from unnest($3::text[], $4::timestamptz[], $5::text[]) as r (id, at, address)`,
    [orgId, tenantId, ids, ids.map((id) => new Date(timeOfId(id))), ids.map((_, i) => to(i)), dueAt],
  )
  return ids
}

/** Ids only grow within a process, so a test must start at least at the time that an earlier test moved its clock to. */
export const catchUpWithIds = async (t: TestService): Promise<void> => {
  const ahead = timeOfId(newId('message')) - t.service.clock.millis()
  if (ahead > 0) await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: Math.ceil(ahead / 1000) } })
}

export const postOf = (t: TestService, { org, keys }: Pick<CreatedOrg, 'org' | 'keys'>) => {
  const path = '/api/v1/emails'
  const { live } = keys
  const endpoint = t.endpoint(org.id)
  const inSeconds = (seconds: number) => new Date(t.service.clock.millis() + seconds * 1000).toISOString()
  const send = async (body: Record<string, unknown> = {}, key = live, headers: Record<string, string> = {}) => {
    await endpoint
    return t.ask('POST', path, {
      key,
      headers,
      body: {
        from: 'hello@example.test',
        to: ['ann@reader.test'],
        subject: 'A subject',
        text: 'Hi',
        ...body,
      },
    })
  }
  const accepted = async (reply: Promise<Reply>): Promise<string> => {
    const { status, body, text } = await reply
    if (status !== 200) throw new Error(`${status}: ${text}`)
    return body.id
  }
  const eventsOf = (id: string) =>
    t.database.sql<ReportedEvent>(
      `select event, data, tenant_id, environment
       from events where org_id = $1 and data->>'message_id' = $2 order by id`,
      [org.id, id],
    )
  return {
    inSeconds,
    send,
    sent: (body: Record<string, unknown> = {}, key = live, headers = {}) => accepted(send(body, key, headers)),
    /** Due in a minute unless the body sets `scheduled_at`. */
    scheduled: (body: Record<string, unknown> = {}, key = live, headers = {}) =>
      accepted(send({ scheduled_at: inSeconds(60), ...body }, key, headers)),
    get: (id: string, query = '', key = live) => t.ask('GET', `${path}/${id}${query}`, { key }),
    list: (query = '', key = live) => t.ask('GET', `${path}${query}`, { key }),
    cancel: (id: string, key = live) => t.ask('DELETE', `${path}/${id}`, { key }),
    advance: (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } }),
    /** Runs one complete pass of the scheduler. Returns the number of messages it processed. */
    fire: async (): Promise<number> =>
      (await t.ask('POST', '/api/dev/run', { body: { task: 'scheduler' } })).body.counts.messages_worked_on,
    notify: (message_id: string, outcome: string) =>
      t.ask('POST', '/api/dev/notify', { body: { message_id, outcome } }),
    row: async (id: string): Promise<StoredMessage> =>
      (
        await t.database.sql<StoredMessage>(
          `select ${messageColumnsOf('m')}, m.claimed_at, m.marks from messages m where id = $1`,
          [id],
        )
      )[0] as StoredMessage,
    statuses: async (): Promise<Record<string, number>> =>
      Object.fromEntries(
        (
          await t.database.sql<{ status: string; n: number }>(
            'select status, count(*)::int as n from messages where org_id = $1 group by 1',
            [org.id],
          )
        ).map(({ status, n }) => [status, n]),
      ),
    /** The mails of a message that the local provider accepted. */
    handed: async (id: string) => {
      await t.service.modules.outbox.flushed()
      return t.database.sql<{ mail: { recipients: string[]; subject: string } }>(
        'select mail::json as mail from local_outbox where message_id = $1 order by id',
        [id],
      )
    },
    events: eventsOf,
    used: async (measure = 'email', subject = 'org'): Promise<number> =>
      (
        await t.database.sql<{ n: number }>(
          `select coalesce(sum(used), 0)::int as n from usage_counters
           where org_id = $1 and measure = $2 and subject = $3`,
          [org.id, measure, subject],
        )
      )[0]?.n ?? 0,
  }
}

export type Post = ReturnType<typeof postOf>

/** An SMTP relay on loopback. `refusal` returns its error reply to a recipient, or undefined to accept the mail. */
export const startRelay = async (refusal: (recipient: string) => { code: number; text: string } | undefined) => {
  const accepted: string[] = []
  let attempts = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    disableReverseLookup: true,
    closeTimeout: 100,
    onRcptTo: ({ address }, _session, done) => {
      attempts++
      const reply = refusal(address)
      done(reply && Object.assign(new Error(reply.text), { responseCode: reply.code }))
    },
    onData: (stream, _session, done) => {
      let raw = ''
      stream.on('data', (chunk) => {
        raw += chunk
      })
      stream.on('end', () => {
        accepted.push(/^message-id: <([^@>]+)@/im.exec(raw)?.[1] ?? raw)
        done(null, 'OK: queued')
      })
    },
  })
  server.on('error', () => undefined)
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)))
  const { port } = listening.address() as AddressInfo
  return { accepted, attempts: () => attempts, url: `smtp://127.0.0.1:${port}` }
}
