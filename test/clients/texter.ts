/** Calls the SMS routes for one org, and reads everything that a send stores directly from the database. */
import type { Plan } from '../../src/customers/orgs/plans.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import type { OutboxEntry } from '../../src/providers/outbox/read.ts'
import type { Reply, TestService } from '../service/service.ts'
import { type Body, mailer } from './mailer.ts'

type How = { key?: string; headers?: Record<string, string> }

export type SmsContract = { plan?: Plan; sms?: number; spendMicros?: number }

/** Every org has this sender from the start. */
export const senderId = 'TIDINGS'

export const text = (more: Body = {}): Body => ({ from: senderId, to: '+15125550100', body: 'Hello, Ada', ...more })

/** Numbers with a simulated outcome. */
export const simulated = {
  delivered: '+15005550001',
  bounced: '+15005550002',
  failed: '+15005550003',
  slow: '+15005550008',
  refused: '+15005550009',
}

export type NumberOptions = {
  status?: string
  environment?: 'live' | 'test'
  tenantId?: string | null
  campaignId?: string | null
}
export type DltOptions = {
  status?: string
  providerTemplateId?: string | null
  environment?: 'live' | 'test'
}

/** Rows of senders, pools and DLT templates, as their own routes store them. */
const sendersOf = (t: TestService, orgId: string) => {
  const { sql } = t.database
  const at = () => t.service.clock.now()
  const sender = async (kind: string, value: string, o: NumberOptions): Promise<string> => {
    const id = newId('phoneNumber')
    await sql(
      `insert into phone_numbers (org_id, id, tenant_id, environment, kind, e164, sender_id, iso_country, status,
         campaign_id, created_at, updated_at)
       values ($1, $2, $3, $4, $5::text, case when $5 = 'number' then $6 end, case when $5 <> 'number' then $6 end, 'US',
         $7, $8, $9, $9)`,
      [
        orgId,
        id,
        o.tenantId ?? null,
        o.environment ?? 'live',
        kind,
        value,
        o.status ?? 'verified',
        o.campaignId ?? null,
        at(),
      ],
    )
    return id
  }
  return {
    number: (e164: string | null, options: NumberOptions = {}) => sender('number', e164 as string, options),
    alphanumeric: (id: string, options: NumberOptions = {}) => sender('alphanumeric', id, options),
    setSender: (id: string, column: string, value: unknown) =>
      sql(`update phone_numbers set ${column} = $3 where org_id = $1 and id = $2`, [orgId, id, value]),
    campaign: async (useCase: string): Promise<string> => {
      const brandId = newId('brand')
      const id = newId('campaign')
      await sql(
        `insert into brands (org_id, id, environment, status, fields, created_at, updated_at)
         values ($1, $2, 'live', 'verified', '{}', $3, $3)`,
        [orgId, brandId, at()],
      )
      await sql(
        `insert into campaigns (org_id, id, brand_id, environment, kind, status, fields, created_at, updated_at)
         values ($1, $2, $3, 'live', '10dlc', 'verified', $4, $5, $5)`,
        [orgId, id, brandId, JSON.stringify({ use_case: useCase }), at()],
      )
      return id
    },
    pool: async (slug: string, members: string[], tenantId: string | null = null): Promise<string> => {
      const id = newId('pool')
      await sql(
        `insert into pools (org_id, id, tenant_id, slug, name, created_environment, created_at, updated_at)
         values ($1, $2, $3, $4, $4, 'live', $5, $5)`,
        [orgId, id, tenantId, slug, at()],
      )
      for (const [place, member] of members.entries()) {
        await sql('insert into pool_members (org_id, pool_id, phone_number_id, place) values ($1, $2, $3, $4)', [
          orgId,
          id,
          member,
          place,
        ])
      }
      return id
    },
    /** How many recipients each member of the pool has, in the order of the members: the counts, and the rows. */
    poolCounts: (poolId: string) =>
      sql<{ id: string; counted: number; assigned: number }>(
        `select m.phone_number_id as id, m.recipients::int as counted,
           (select count(*)::int from pool_recipients r
            where r.org_id = m.org_id and r.pool_id = m.pool_id and r.phone_number_id = m.phone_number_id) as assigned
         from pool_members m where m.org_id = $1 and m.pool_id = $2 order by m.place`,
        [orgId, poolId],
      ),
    dltTemplate: async (o: DltOptions = {}): Promise<string> => {
      const [entity, header, id] = [newId('dltEntity'), newId('dltHeader'), newId('dltTemplate')]
      const environment = o.environment ?? 'live'
      await sql(
        `insert into dlt_entities (org_id, id, environment, entity_id, legal_name, status, created_at, updated_at)
         values ($1, $2, $3, '1001234567890123456', 'Acme', 'approved', $4, $4)`,
        [orgId, entity, environment, at()],
      )
      await sql(
        `insert into dlt_headers (org_id, id, environment, entity, header, category, status, created_at, updated_at)
         values ($1, $2, $3, $4, 'ACMEIN', 'transactional', 'approved', $5, $5)`,
        [orgId, header, environment, entity, at()],
      )
      await sql(
        `insert into dlt_templates (org_id, id, environment, entity, header, name, category, content, status,
           provider_template_id, created_at, updated_at)
         values ($1, $2, $3, $4, $5, 'Order', 'transactional', 'Hello, {#var#}', $6, $7, $8, $8)`,
        [
          orgId,
          id,
          environment,
          entity,
          header,
          o.status ?? 'approved',
          o.providerTemplateId === undefined ? '1007000000000000001' : o.providerTemplateId,
          at(),
        ],
      )
      return id
    },
  }
}

export const texter = async (t: TestService, { plan, sms, spendMicros }: SmsContract = {}) => {
  const own = await mailer(t, { ...(plan && { plan }), ...(spendMicros !== undefined && { spendMicros }) })
  const { orgId, live } = own
  const path = '/api/v1/sms'
  if (sms !== undefined) await t.database.sql('update orgs set sms_monthly = $2 where id = $1', [orgId, sms])
  t.service.modules.usage.forgetOrg(orgId)

  const outbox = async (): Promise<OutboxEntry[]> => {
    await t.service.modules.outbox.flushed()
    return own.outbox()
  }

  return {
    ...own,
    ...sendersOf(t, orgId),
    send: (body: unknown, { key = live, headers = {} }: How = {}): Promise<Reply> =>
      t.ask('POST', path, { key, body, headers }),
    batch: (body: unknown, { key = live, headers = {} }: How = {}): Promise<Reply> =>
      t.ask('POST', `${path}/batch`, { key, body, headers }),
    get: (id: string, key = live): Promise<Reply> => t.ask('GET', `${path}/${id}`, { key }),
    list: (query = '', key = live): Promise<Reply> => t.ask('GET', `${path}${query}`, { key }),
    cancel: (id: string, key = live): Promise<Reply> => t.ask('DELETE', `${path}/${id}`, { key }),
    notify: (message_id: string, outcome: string) =>
      t.ask('POST', '/api/dev/notify', { body: { message_id, outcome } }),
    advance: (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } }),
    /** Runs one complete pass of the scheduler. Returns the number of messages it processed. */
    fire: async (): Promise<number> =>
      (await t.ask('POST', '/api/dev/run', { body: { task: 'scheduler' } })).body.counts.messages_worked_on,
    inSeconds: (seconds: number): string => new Date(t.service.clock.millis() + seconds * 1_000).toISOString(),
    outbox,
    /** The stored message. */
    row: async (id: string): Promise<Record<string, unknown>> =>
      (
        await t.database.sql(
          `select status, environment, tenant_id, from_address, to_addresses, text, sms, scheduled_at, due_at, attempts,
             error_message
           from messages where id = $1`,
          [id],
        )
      )[0] as Record<string, unknown>,
    geo: (value: string | null) => t.database.sql('update orgs set sms_geo = $2 where id = $1', [orgId, value]),
    suppress: (value: string, reason = 'manual', tenantId: string | null = null, channel = 'sms') =>
      t.database.sql(
        `insert into suppressions
           (org_id, id, tenant_id, channel, value, reason, source, created_environment, created_at, updated_at)
         values ($1, 'sup_' || md5(random()::text), $4, $6, $2, $3, 'api', 'live', $5, $5)`,
        [orgId, value, reason, tenantId, t.service.clock.now(), channel],
      ),
    suppressions: () =>
      t.database.sql(
        'select channel, value, reason, source, tenant_id from suppressions where org_id = $1 order by value',
        [orgId],
      ),
  }
}

export type Texter = Awaited<ReturnType<typeof texter>>
