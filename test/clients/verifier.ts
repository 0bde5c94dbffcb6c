/** Starts and checks one-time codes for one org, and reads what they store directly from the database. */
import type { OutboxEntry } from '../../src/providers/outbox/read.ts'
import type { Reply, TestService } from '../service/service.ts'
import type { Body } from './mailer.ts'
import { type SmsContract, senderId, texter } from './texter.ts'

type How = { key?: string; headers?: Record<string, string> }

export const startPath = '/api/v1/verifications'

export type StoredVerification = {
  tenant_id: string | null
  environment: string
  channel: string
  destination: string
  code_hash: string
  attempts: number
  max_attempts: number
  dlt_template_id: string | null
  created_at: Date
  expires_at: Date
  used_at: Date | null
}

export const verifier = async (t: TestService, contract: SmsContract = {}) => {
  const own = await texter(t, contract)
  const { orgId, live } = own
  let numbers = 0
  /** A number that no other call returns. */
  const newNumber = () => `+4479460${String(++numbers).padStart(5, '0')}`
  const newAddress = () => `reader${++numbers}@reader.test`

  const start = (body: Body = {}, { key = live, headers = {} }: How = {}): Promise<Reply> =>
    t.ask('POST', startPath, { key, headers, body: { channel: 'sms', to: newNumber(), from: senderId, ...body } })
  const startEmail = (body: Body = {}, how: How = {}): Promise<Reply> =>
    start({ channel: 'email', to: newAddress(), from: 'login@example.test', ...body }, how)

  const outbox = async (query = 'limit=200'): Promise<OutboxEntry[]> =>
    (await t.ask('GET', `/api/dev/outbox?${query}`)).body.data
  const handed = async (id: string): Promise<OutboxEntry> => {
    const found = (await outbox()).filter(({ verification_id }) => verification_id === id)
    if (found.length !== 1) throw new Error(`the local outbox contains ${found.length} codes of ${id}, expected 1`)
    return found[0] as OutboxEntry
  }

  return {
    ...own,
    newNumber,
    newAddress,
    start,
    startEmail,
    /** The id of a new verification. */
    started: async (body: Body = {}, how: How = {}): Promise<string> => {
      const reply = await start(body, how)
      if (reply.status !== 201) throw new Error(`${reply.status}: ${reply.text}`)
      return reply.body.id
    },
    check: (id: string, code: unknown, { key = live, headers = {} }: How = {}): Promise<Reply> =>
      t.ask('POST', `${startPath}/${id}/check`, { key, headers, body: { code } }),
    codesSent: outbox,
    handed,
    /** The code that was sent. */
    code: async (id: string): Promise<string> => {
      const { body, text } = await handed(id)
      return /\d{4,10}/.exec(body ?? text ?? '')?.[0] as string
    },
    stored: async (id: string): Promise<StoredVerification> => {
      const [row] = await t.database.sql<StoredVerification>(
        `select tenant_id, environment, channel, destination, code_hash, attempts, max_attempts, dlt_template_id,
           created_at, expires_at, used_at
         from verifications where org_id = $1 and id = $2`,
        [orgId, id],
      )
      return row as StoredVerification
    },
    count: async (): Promise<number> =>
      (
        await t.database.sql<{ n: number }>('select count(*)::int as n from verifications where org_id = $1', [orgId])
      )[0]?.n ?? 0,
  }
}

export type Verifier = Awaited<ReturnType<typeof verifier>>

/** A code of the same length that is not this one. */
export const wrong = (code: string): string => code.replace(/\d$/, (digit) => String((Number(digit) + 1) % 10))
