/** Plays phones that write to the numbers of one org, and reads what that stores. */
import type { Reply, TestService } from '../service/service.ts'
import { texter } from './texter.ts'

type StoredEvent = {
  event: string
  tenant_id: string | null
  environment: string | null
  data: Record<string, unknown>
}

let numbers = 0
/** A number that no other call returns. */
export const freshNumber = (): string => `+1206555${String(++numbers).padStart(4, '0')}`

/** An org with a number, `line`, that phones can write to. */
export const phoneClient = async (t: TestService) => {
  const own = await texter(t)
  const { orgId, live } = own
  const line = freshNumber()
  const lineId = await own.number(line)
  const path = '/api/v1/inbound'
  const receive = (from: string, body: string, more: Record<string, unknown> = {}): Promise<Reply> =>
    t.ask('POST', '/api/dev/inbound-sms', { body: { from, to: line, body, ...more } })
  return {
    ...own,
    line,
    lineId,
    receive,
    /** The id of a received message. */
    received: async (from: string, body: string, more: Record<string, unknown> = {}): Promise<string> => {
      const reply = await receive(from, body, more)
      if (reply.status !== 200) throw new Error(reply.text)
      return reply.body.id
    },
    /** The id of a message that was sent from the line. */
    sent: async (to: string, more: { key?: string; body?: Record<string, unknown> } = {}): Promise<string> => {
      const reply = await own.send({ from: line, to, body: 'Hello', ...more.body }, { key: more.key ?? live })
      if (reply.status !== 200) throw new Error(reply.text)
      return reply.body.id
    },
    inbound: (query = '', key = live): Promise<Reply> => t.ask('GET', `${path}${query}`, { key }),
    inboundOne: (id: string, key = live): Promise<Reply> => t.ask('GET', `${path}/${id}`, { key }),
    /** Events that received messages caused, oldest first. */
    inboundEvents: () =>
      t.database.sql<StoredEvent>(
        `select event, tenant_id, environment, data from events
         where org_id = $1 and event not like 'message.%' order by created_at, id`,
        [orgId],
      ),
    suppressed: () =>
      t.database.sql(
        `select id, value, tenant_id, channel, reason, source, message_id, created_environment from suppressions
         where org_id = $1 order by created_at, id`,
        [orgId],
      ),
  }
}

export type PhoneClient = Awaited<ReturnType<typeof phoneClient>>
