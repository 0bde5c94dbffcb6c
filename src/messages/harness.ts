/** For the tests beside: messages as a client of one org sends them, and what they leave, seen from outside. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { onTestFinished } from 'vitest'
import type { Reply, TestService } from '../../test/service/service.ts'
import { newId, timeOfId } from '../ground/ids.ts'
import type { CreatedOrg } from '../operator/create-org.ts'

export type ReportedEvent = {
  event: string
  data: Record<string, unknown>
  tenant_id: string | null
  environment: string
}

export type StoredMessage = {
  id: string
  status: string
  due_at: Date | null
  claim: string | null
  attempts: number
  error_message: string | null
  sent_at: Date | null
  canceled_at: Date | null
  history: { status: string; recipient?: string }[]
}

/** Rows put straight into the table, as a blast or a day's work would leave them there. */
export type Waiting = { orgId: string; dueAt: Date; to?: (n: number) => string; tenantId?: string | null }

export const insertWaiting = async (
  { database, service }: TestService,
  n: number,
  { orgId, dueAt, to = (i) => `reader${i}@reader.test`, tenantId = null }: Waiting,
): Promise<string[]> => {
  const ids = Array.from({ length: n }, () => newId('message', service.clock.millis()))
  await database.sql(
    `insert into messages (org_id, id, created_at, tenant_id, environment, project_id, channel, status, from_address,
       to_addresses, subject, text, scheduled_at, due_at, history)
     select $1, r.id, r.at, $2, 'live', (select id from projects where org_id = $1 and is_default), 'email', 'scheduled',
       'hello@example.test', array[r.address], 'A subject', 'Hi', $6, $6, '[]'
     from unnest($3::text[], $4::timestamptz[], $5::text[]) as r (id, at, address)`,
    [orgId, tenantId, ids, ids.map((id) => new Date(timeOfId(id))), ids.map((_, i) => to(i)), dueAt],
  )
  return ids
}

export const postOf = (t: TestService, { org, keys }: Pick<CreatedOrg, 'org' | 'keys'>) => {
  const path = '/api/v1/emails'
  const { live } = keys
  const inSeconds = (seconds: number) => new Date(t.service.clock.millis() + seconds * 1000).toISOString()
  const send = (body: Record<string, unknown> = {}, key = live, headers: Record<string, string> = {}) =>
    t.ask('POST', path, {
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
  const accepted = async (reply: Promise<Reply>): Promise<string> => {
    const { status, body, text } = await reply
    if (status !== 200) throw new Error(`${status}: ${text}`)
    return body.id
  }
  return {
    inSeconds,
    send,
    sent: (body: Record<string, unknown> = {}, key = live, headers = {}) => accepted(send(body, key, headers)),
    /** Due in a minute unless the body says otherwise. */
    scheduled: (body: Record<string, unknown> = {}, key = live, headers = {}) =>
      accepted(send({ scheduled_at: inSeconds(60), ...body }, key, headers)),
    get: (id: string, query = '', key = live) => t.ask('GET', `${path}/${id}${query}`, { key }),
    list: (query = '', key = live) => t.ask('GET', `${path}${query}`, { key }),
    cancel: (id: string, key = live) => t.ask('DELETE', `${path}/${id}`, { key }),
    advance: (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } }),
    /** One pass of the scheduler to its end; how many rows it worked on. */
    fire: async (): Promise<number> =>
      (await t.ask('POST', '/api/dev/run', { body: { task: 'scheduler' } })).body.counts.messages_worked_on,
    notify: (message_id: string, outcome: string) =>
      t.ask('POST', '/api/dev/notify', { body: { message_id, outcome } }),
    row: async (id: string): Promise<StoredMessage> =>
      (await t.database.sql<StoredMessage>('select * from messages where id = $1', [id]))[0] as StoredMessage,
    statuses: async (): Promise<Record<string, number>> =>
      Object.fromEntries(
        (
          await t.database.sql<{ status: string; n: number }>(
            'select status, count(*)::int as n from messages where org_id = $1 group by 1',
            [org.id],
          )
        ).map(({ status, n }) => [status, n]),
      ),
    /** What the local provider was handed of a message. */
    handed: (id: string) =>
      t.database.sql<{ mail: { recipients: string[]; subject: string } }>(
        'select mail::json as mail from local_outbox where message_id = $1 order by id',
        [id],
      ),
    told: (id: string) =>
      t.database.sql<ReportedEvent>(
        `select event, data, tenant_id, environment from events where org_id = $1 and data->>'message_id' = $2 order by id`,
        [org.id, id],
      ),
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

/** A relay on this machine whose answers the test decides; undefined takes the letter. */
export const relayOf = async (answer: () => { code: number; words: string } | undefined) => {
  const taken: string[] = []
  let asked = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    disableReverseLookup: true,
    closeTimeout: 100,
    onRcptTo: (_address, _session, done) => {
      asked++
      const refusal = answer()
      done(refusal && Object.assign(new Error(refusal.words), { responseCode: refusal.code }))
    },
    onData: (stream, _session, done) => {
      let raw = ''
      stream.on('data', (chunk) => {
        raw += chunk
      })
      stream.on('end', () => {
        taken.push(/^message-id: <([^@>]+)@/im.exec(raw)?.[1] ?? raw)
        done(null, 'OK: queued')
      })
    },
  })
  server.on('error', () => undefined)
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)))
  const { port } = listening.address() as AddressInfo
  return { taken, asked: () => asked, url: `smtp://127.0.0.1:${port}` }
}
