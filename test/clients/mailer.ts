/** Calls the email routes for one org, and reads everything that a send stores directly from the database. */
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import type { Plan } from '../../src/customers/orgs/plans.ts'
import type { OutboxEntry } from '../../src/providers/outbox/read.ts'
import type { Reply, TestService } from '../service/service.ts'

export type Body = Record<string, unknown>
type How = { key?: string; headers?: Record<string, string> }

export type Contract = { plan?: Plan; email?: number; spendMicros?: number }

/** Everything that a send can store: statuses, event names, audit entries, local outbox, usage. */
export type Traces = {
  messages: string[]
  events: string[]
  audited: unknown[]
  outbox: number
  used: Record<string, number>
}

export const post = '/api/v1/emails'

export const mail = (more: Body = {}): Body => ({
  from: 'hello@example.test',
  to: ['ada@example.com'],
  subject: 'Hello',
  text: 'Hello, Ada',
  ...more,
})

/** An address with a simulated outcome. */
export const simulator = (part: string): string => `${part}@simulator.tidings.test`

export const mailer = async (t: TestService, { plan, email, spendMicros }: Contract = {}) => {
  const founded: CreatedOrg = await t.org({ ...(plan && { plan }) })
  const orgId = founded.org.id
  const { live } = founded.keys
  const contract = (column: string, value: number | null) =>
    t.database.sql(`update orgs set ${column} = $2 where id = $1`, [orgId, value])
  await contract('rate_limit_per_minute', 1_000_000)
  if (email !== undefined) await contract('email_monthly', email)
  if (spendMicros !== undefined) await contract('spend_cap_micros', spendMicros)
  t.service.modules.usage.forgetOrg(orgId)
  await t.endpoint(orgId)

  const outbox = async (): Promise<OutboxEntry[]> => {
    const own = new Set(
      (await t.database.sql<{ id: string }>('select id from messages where org_id = $1', [orgId])).map(({ id }) => id),
    )
    const { body } = await t.ask('GET', '/api/dev/outbox?limit=200')
    return (body.data as OutboxEntry[]).filter(({ message_id }) => own.has(message_id as string))
  }

  const used = async (): Promise<Record<string, number>> => {
    const rows = await t.database.sql<{ name: string; used: string }>(
      `select case when subject like 'key_%' then 'key' else subject end || ' ' || environment || ' ' || measure as name,
         sum(used) as used
       from usage_counters where org_id = $1 and used > 0 group by 1`,
      [orgId],
    )
    return Object.fromEntries(rows.map((row) => [row.name, Number(row.used)]))
  }

  return {
    ...founded,
    orgId,
    live,
    test: founded.keys.test,
    sandbox: `try@${founded.org.slug}.sandbox.tidings.test`,
    send: (body: unknown, { key = live, headers = {} }: How = {}): Promise<Reply> =>
      t.ask('POST', post, { key, body, headers }),
    batch: (body: unknown, { key = live, headers = {} }: How = {}): Promise<Reply> =>
      t.ask('POST', `${post}/batch`, { key, body, headers }),
    get: (id: string, key = live): Promise<Reply> => t.ask('GET', `${post}/${id}?include=body`, { key }),
    list: (query = '', key = live): Promise<Reply> => t.ask('GET', `${post}${query}`, { key }),
    outbox,
    /** The only message in the local outbox with this id. */
    handed: async (id: string): Promise<OutboxEntry> => {
      const found = (await outbox()).filter(({ message_id }) => message_id === id)
      if (found.length !== 1)
        throw new Error(`the local outbox contains ${found.length} messages with id ${id}, expected 1`)
      return found[0] as OutboxEntry
    },
    used,
    events: (): Promise<{ event: string; environment: string; tenant_id: string | null; data: Body }[]> =>
      t.database.sql(
        "select event, environment, tenant_id, data from events where org_id = $1 and event like 'message.%' order by id",
        [orgId],
      ),
    suppress: (value: string, reason = 'manual', tenantId: string | null = null) =>
      t.database.sql(
        `insert into suppressions
           (org_id, id, tenant_id, channel, value, reason, source, created_environment, created_at, updated_at)
         values ($1, 'sup_' || md5(random()::text), $4, 'email', $2, $3, 'api', 'live', $5, $5)`,
        [orgId, value, reason, tenantId, t.service.clock.now()],
      ),
    traces: async (): Promise<Traces> => {
      const column = async (text: string) => (await t.database.sql<{ v: string }>(text, [orgId])).map(({ v }) => v)
      return {
        messages: await column('select status as v from messages where org_id = $1 order by id'),
        events: await column("select event as v from events where org_id = $1 and event like 'message.%' order by id"),
        audited: await column(
          "select metadata as v from audit_entries where org_id = $1 and action = 'message.sent' order by id",
        ),
        outbox: (await outbox()).length,
        used: await used(),
      }
    },
  }
}

export type Mailer = Awaited<ReturnType<typeof mailer>>
