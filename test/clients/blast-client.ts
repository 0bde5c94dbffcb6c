/** Sends to audiences of one org. Contacts and audiences are inserted directly into the database. */
import { newId } from '../../src/platform/ground/ids.ts'
import type { Reply, TestService } from '../service/service.ts'
import type { Body } from './mailer.ts'
import { type SmsContract, texter } from './texter.ts'

export type Member = {
  id?: string
  name?: string | null
  email?: string | null
  phone?: string | null
  metadata?: Record<string, string>
}

export type BlastRow = {
  id: string
  to: string
  status: string
  subject: string | null
  html: string | null
  text: string | null
  headers: Record<string, string> | null
  metadata: Record<string, string> | null
  stream: string
  tenant_id: string | null
  environment: string
  scheduled_at: Date
  due_at: Date | null
  created_at: Date
  error_message: string | null
}

type How = { key?: string; headers?: Record<string, string> }

/** An id that sorts after those made before it. */
let made = 0
const contactId = (): string => `con_01k5${String(++made).padStart(22, '0')}`

export const blastClient = async (t: TestService, contract: SmsContract & { email?: number } = {}) => {
  const own = await texter(t, contract)
  const { orgId, live } = own
  const { sql } = t.database
  if (contract.email !== undefined) {
    await sql('update orgs set email_monthly = $2 where id = $1', [orgId, contract.email])
    t.service.modules.usage.forgetOrg(orgId)
  }

  const audience = async (members: Member[], tenantId: string | null = null): Promise<string> => {
    const id = newId('audience')
    const at = t.service.clock.now()
    const rows = members.map((member) => ({ name: null, email: null, phone: null, metadata: {}, ...member }))
    const ids = rows.map((row) => row.id ?? contactId())
    await sql(
      `insert into audiences (org_id, id, tenant_id, created_environment, name, slug, member_count, created_at, updated_at)
       values ($1, $2, $3, 'live', 'News', $2, $4, $5, $5)`,
      [orgId, id, tenantId, members.length, at],
    )
    await sql(
      `insert into contacts (org_id, id, tenant_id, created_environment, name, email, phone, metadata, created_at, updated_at)
       select $1, c.id, $2, 'live', c.name, c.email, c.phone, c.metadata::jsonb, $8, $8
       from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) as c (id, name, email, phone, metadata)`,
      [
        orgId,
        tenantId,
        ids,
        rows.map(({ name }) => name),
        rows.map(({ email }) => email),
        rows.map(({ phone }) => phone),
        rows.map(({ metadata }) => JSON.stringify(metadata)),
        at,
      ],
    )
    await sql(
      `insert into audience_members (org_id, audience_id, contact_id, created_at)
       select $1, $2, id, $4 from unnest($3::text[]) as c (id)`,
      [orgId, id, ids, at],
    )
    return id
  }

  let templates = 0
  const template = async (parts: Body): Promise<string> => {
    const slug = `news-${++templates}`
    const reply = await t.ask('POST', '/api/v1/templates', { key: live, body: { slug, ...parts } })
    if (reply.status !== 201) throw new Error(reply.text)
    return slug
  }

  const post = (audienceId: string, body: Body, { key = live, headers = {} }: How = {}): Promise<Reply> =>
    t.ask('POST', `/api/v1/audiences/${audienceId}/send`, { key, body, headers })

  const rows = (jobId: string): Promise<BlastRow[]> =>
    sql<BlastRow>(
      `select id, to_addresses[1] as to, status, subject, html, text, headers, metadata, stream, tenant_id, environment,
         scheduled_at, due_at, created_at, error_message
       from messages where org_id = $1 and job_id = $2 order by scheduled_at, to_addresses[1]`,
      [orgId, jobId],
    )

  return {
    ...own,
    audience,
    template,
    post,
    /** A send that must be accepted. */
    sent: async (audienceId: string, body: Body, how: How = {}): Promise<Reply['body']> => {
      const reply = await post(audienceId, body, how)
      if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`)
      return reply.body
    },
    rows,
    job: (id: string, key = live) => t.ask('GET', `/api/v1/jobs/${id}`, { key }),
    jobs: (query = '', key = live) => t.ask('GET', `/api/v1/jobs${query}`, { key }),
    cancelJob: (id: string, key = live) => t.ask('DELETE', `/api/v1/jobs/${id}`, { key }),
    jobEvents: (id: string) =>
      sql<{ event: string; environment: string; tenant_id: string | null; data: Body }>(
        `select event, environment, tenant_id, data from events
         where org_id = $1 and event like 'job.%' and data ->> 'id' = $2 order by id`,
        [orgId, id],
      ),
    audited: (action: string) =>
      sql<{ resource_type: string; resource_id: string; metadata: Body }>(
        'select resource_type, resource_id, metadata from audit_entries where org_id = $1 and action = $2 order by id',
        [orgId, action],
      ),
    /** Messages and jobs of the org, whatever created them. */
    stored: async () =>
      (
        await sql<{ messages: number; jobs: number }>(
          `select (select count(*)::int from messages where org_id = $1) as messages,
             (select count(*)::int from jobs where org_id = $1) as jobs`,
          [orgId],
        )
      )[0],
  }
}

export type BlastClient = Awaited<ReturnType<typeof blastClient>>

/** Members with an address each, named after their place. */
export const readers = (n: number, more: (i: number) => Member = () => ({})): Member[] =>
  Array.from({ length: n }, (_, i) => ({ name: `Reader ${i}`, email: `reader${i}@reader.test`, ...more(i) }))

export const email = (template: string, more: Body = {}): Body => ({
  channel: 'email',
  from: 'News <hello@example.test>',
  template,
  ...more,
})

export const sms = (template: string, more: Body = {}): Body => ({ channel: 'sms', from: 'TIDINGS', template, ...more })
