/** Sends SMS as a client of one org, and reads the rows that result. */
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import type { TestService } from '../service/service.ts'

export type StoredSms = {
  status: string
  history: { status: string; recipient?: string; detail?: string | null }[]
  provider_response: Record<string, unknown> | null
  error_message: string | null
}

export const smsClient = (t: TestService, { org, keys }: Pick<CreatedOrg, 'org' | 'keys'>) => {
  const endpoint = t.endpoint(org.id)
  let count = 0
  /** A number that no other call returns. */
  const number = () => `+4479460${String(++count).padStart(5, '0')}`
  return {
    number,
    send: async (body: Record<string, unknown> = {}, key = keys.live) => {
      await endpoint
      return t.ask('POST', '/api/v1/sms', { key, body: { from: 'TIDINGS', to: number(), body: 'Hi', ...body } })
    },
    /** The id of a sent message. */
    sent: async (body: Record<string, unknown> = {}): Promise<string> => {
      await endpoint
      const to = number()
      const reply = await t.ask('POST', '/api/v1/sms', {
        key: keys.live,
        body: { from: 'TIDINGS', to, body: 'Hi', ...body },
      })
      if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`)
      return reply.body.id
    },
    row: async (id: string): Promise<StoredSms> => {
      const [row] = await t.database.sql<StoredSms>(
        `select status, history, provider_response, error_message from messages where org_id = $1 and id = $2`,
        [org.id, id],
      )
      return row as StoredSms
    },
    events: (id: string) =>
      t.database.sql<{ event: string }>(
        `select event from events where org_id = $1 and data->>'message_id' = $2 order by id`,
        [org.id, id],
      ),
    suppressions: () =>
      t.database.sql(
        `select value, channel, reason, source, message_id from suppressions where org_id = $1 order by value`,
        [org.id],
      ),
    notify: (message_id: string, outcome: string) =>
      t.ask('POST', '/api/dev/notify', { body: { message_id, outcome } }),
  }
}
