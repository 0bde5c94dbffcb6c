/** Audiences, their members, CSV files and sends through the dashboard. */
import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { audienceClient } from '../../../../test/clients/audience-client.ts'
import { blastClient, email, readers } from '../../../../test/clients/blast-client.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { tenantClient } from '../../../../test/clients/tenant-client.ts'
import { iso } from '../../../../test/expect/instants.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const acme = await t.org()
const orgId = acme.org.id
await t.database.sql("update orgs set plan = 'enterprise' where id = $1", [orgId])
const owner = await primaryOwner(t, orgId)
const developer = await person(t, { orgId, role: 'developer' })
const member = await person(t, { orgId, role: 'member' })
const viewer = await person(t, { orgId, role: 'viewer' })
const stranger = await primaryOwner(t, (await t.org()).org.id)

const path = '/api/internal/audiences'
const developerRequired = [403, { error: 'Developer or owner role required' }]

const made = async (body: object = {}): Promise<string> => {
  const reply = await developer.ask('POST', path, { name: 'News', ...body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.id
}

const importCsv = (id: string, raw: string | Buffer, type = 'text/csv', who: Member = developer) =>
  who.ask('POST', `${path}/${id}/import-csv`, undefined, { raw, headers: { 'content-type': type } })

const written = (action: string, resourceId: string, metadata: object) => ({
  id: expect.any(String),
  actor_user_id: developer.userId,
  action,
  resource_type: 'audience',
  resource_id: resourceId,
  metadata,
  ip_address: '127.0.0.1',
  user_agent: expect.any(String),
  created_at: expect.any(Date),
  signature: null,
})

describe('audiences', () => {
  test('A-062 A-158 A-159 a developer creates and removes an audience, under their own name', async () => {
    const body = { name: 'Beta users', slug: 'beta' }
    const { result: created, trail } = await withTrail(t.database, orgId, () => developer.ask('POST', path, body))
    const { id } = created.body
    const audience = { id, ...body, member_count: 0, tenant_id: null, created_at: iso, updated_at: iso }
    expect([created.status, created.body]).toEqual([201, audience])
    const about = { name: 'Beta users', slug: 'beta', tenant_id: null }
    expect(trail).toEqual([written('audience.created', id, about)])
    expect((await viewer.ask('GET', `${path}?id=${id}`)).body).toEqual(created.body)
    expect((await viewer.ask('GET', `${path}?limit=1`)).body.data).toEqual([created.body])

    const { result: removed, trail: then } = await withTrail(t.database, orgId, () =>
      developer.ask('DELETE', `${path}?id=${id}`),
    )
    expect([removed.status, removed.body]).toEqual([200, { id, deleted: true }])
    expect(then).toEqual([written('audience.removed', id, about)])
    const gone = await viewer.ask('GET', `${path}?id=${id}`)
    expect([gone.status, gone.body]).toEqual([404, { error: 'Not found' }])
  })

  test('A-042 A-062 a member and a viewer read audiences, and neither changes them nor sends to them', async () => {
    const id = await made()
    const changes: [string, string, unknown?][] = [
      ['POST', path, { name: 'Mine' }],
      ['DELETE', `${path}?id=${id}`],
      ['POST', `${path}/${id}/contacts`, { email: 'ada@x.example' }],
      ['DELETE', `${path}/${id}/contacts?id=${newId('contact')}`],
      ['POST', `${path}/${id}/import-csv`, { csv: 'email\nada@x.example' }],
      ['POST', `${path}/${id}/send`, email('welcome')],
    ]
    for (const who of [member, viewer]) {
      expect((await who.ask('GET', path)).status).toBe(200)
      expect((await who.ask('GET', `${path}/${id}/contacts`)).status).toBe(200)
      await leavesNoTrace(async () => {
        for (const [method, url, body] of changes) {
          const reply = await who.ask(method, url, body)
          expect([reply.status, reply.body], `${method} ${url}`).toEqual(developerRequired)
        }
      })
    }
  })

  test('AD-153 AD-155 an audience belongs to the tenant that the body names, and lists take it as a filter', async () => {
    const tenants = tenantClient(t, acme)
    const tenantId = await tenants.made()
    const id = await made({ tenant_id: tenantId })
    const ids = async (query: string) =>
      (await viewer.ask('GET', `${path}?${query}`)).body.data.map((row: { id: string }) => row.id)
    expect(await ids(`tenant_id=${tenantId}`)).toEqual([id])
    expect(await ids(`tenant_id=${newId('tenant')}`)).toEqual([])
    expect(await ids('limit=100')).toContain(id)
    const foreign = await tenantClient(t, await t.org()).made()
    await leavesNoTrace(async () => {
      for (const unknown of [foreign, newId('tenant'), 'ten_x']) {
        const reply = await developer.ask('POST', path, { name: 'News', tenant_id: unknown })
        expect([reply.status, reply.body], unknown).toEqual([404, { error: 'Not found' }])
      }
    })
  })

  test('AD-04 AD-05 ids of another org are 404 on every route and change nothing there', async () => {
    const id = await made()
    await developer.ask('POST', `${path}/${id}/contacts`, { email: 'kept@x.example' })
    const [contact] = (await viewer.ask('GET', `${path}/${id}/contacts`)).body.data
    const requests: [string, string, unknown?][] = [
      ['GET', `${path}?id=${id}`],
      ['DELETE', `${path}?id=${id}`],
      ['DELETE', `${path}?id=nonsense`],
      ['GET', `${path}/${id}/contacts`],
      ['POST', `${path}/${id}/contacts`, { email: 'ada@x.example' }],
      ['DELETE', `${path}/${id}/contacts?id=${contact.id}`],
      ['POST', `${path}/${id}/import-csv`, { csv: 'nonsense' }],
      ['GET', `${path}/${id}/export-csv`],
      ['POST', `${path}/${id}/send`, email('welcome')],
      ['GET', `/api/internal/contacts?audience_id=${id}`],
    ]
    await leavesNoTrace(async () => {
      for (const [method, url, body] of requests) {
        const reply = await stranger.ask(method, url, body)
        expect([reply.status, reply.body], `${method} ${url}`).toEqual([404, { error: 'Not found' }])
      }
    })
    const missing = await developer.ask('DELETE', path)
    expect([missing.status, missing.body.code, missing.body.errors[0].path]).toEqual([422, 'VALIDATION_ERROR', ['id']])
  })
})

describe('members', () => {
  test('A-062 R-27 a developer adds, lists and removes members, and the contact stays', async () => {
    const id = await made()
    const added = await developer.ask('POST', `${path}/${id}/contacts`, { email: 'Eve@x.example', name: 'Eve' })
    const contact = {
      id: added.body.id,
      name: 'Eve',
      email: 'Eve@x.example',
      phone: null,
      metadata: {},
      tenant_id: null,
      created_at: iso,
      updated_at: iso,
    }
    expect([added.status, added.body]).toEqual([201, { ...contact, audience_id: id }])
    expect((await developer.ask('POST', `${path}/${id}/contacts`, { contact_id: contact.id })).status).toBe(200)
    const list = await viewer.ask('GET', `${path}/${id}/contacts`)
    expect(list.body).toEqual({ data: [contact], has_more: false, next_cursor: null })
    expect((await viewer.ask('GET', `${path}?id=${id}`)).body.member_count).toBe(1)

    const url = `${path}/${id}/contacts?id=${contact.id}`
    const removed = await developer.ask('DELETE', url)
    expect([removed.status, removed.body]).toEqual([200, { id: contact.id, deleted: true }])
    const again = await leavesNoTrace(() => developer.ask('DELETE', url))
    expect([again.status, again.body]).toEqual([404, { error: 'Not found' }])
    expect((await viewer.ask('GET', `/api/internal/contacts?id=${contact.id}`)).body).toEqual(contact)
  })
})

describe('CSV files', () => {
  test('S-413 S-415 S-417 S-419 a file is imported as text/csv and inside JSON, under the name of the user', async () => {
    const id = await made()
    const csv = 'email,name,plan\ncsv1@x.example,One,pro\ncsv2@x.example,,\n'
    const { result, trail } = await withTrail(t.database, orgId, () => importCsv(id, csv))
    const counts = { rows: 2, created: 2, linked: 0, already_members: 0, skipped: 0 }
    expect([result.status, result.body]).toEqual([200, { ...counts, errors: [] }])
    expect(trail).toEqual([written('audience.csv_imported', id, counts)])
    const members = (await viewer.ask('GET', `${path}/${id}/contacts`)).body.data
    expect(members.map((row: { metadata: object }) => row.metadata)).toEqual([{}, { plan: 'pro' }])

    const json = await developer.ask('POST', `${path}/${id}/import-csv`, { csv: `${csv}csv3@x.example,,\n,,x` })
    expect([json.status, json.body]).toEqual([
      200,
      {
        rows: 4,
        created: 1,
        linked: 0,
        already_members: 2,
        skipped: 1,
        errors: [{ row: 4, message: 'no email or phone' }],
      },
    ])
  })

  test('S-414 S-418 X-352 AD-155 a file with too many rows or a bad header is refused, and nothing is stored', async () => {
    const id = await made()
    const rows = Array.from({ length: 10_001 }, (_, i) => `over${i}@x.example`).join('\n')
    await leavesNoTrace(async () => {
      const long = await importCsv(id, `email\n${rows}`)
      const tooLong = { error: 'CSV has more than 10,000 rows', code: 'PAYLOAD_TOO_LARGE' }
      expect([long.status, long.body]).toEqual([413, tooLong])
      const large = await importCsv(id, Buffer.alloc(10 * 1_048_576 + 1, 'a'))
      const tooLarge = { error: 'Request body too large', code: 'PAYLOAD_TOO_LARGE' }
      expect([large.status, large.body]).toEqual([413, tooLarge])
      const header = await importCsv(id, 'name\nAda')
      expect([header.status, header.body.error, header.body.code]).toEqual([
        422,
        'Validation failed',
        'VALIDATION_ERROR',
      ])
      for (const type of ['text/plain', 'multipart/form-data; boundary=x']) {
        const reply = await importCsv(id, 'email\nada@x.example', type)
        expect([reply.status, reply.body], type).toEqual([
          422,
          {
            error: 'Validation failed',
            code: 'VALIDATION_ERROR',
            errors: [
              {
                path: ['headers', 'Content-Type'],
                code: 'custom',
                message: 'Must be text/csv, or application/json with the field csv.',
              },
            ],
          },
        ])
      }
    })
  })

  test('a body of 9 MB arrives whole, which is more than any other route of the dashboard takes', async () => {
    const id = await made()
    const wide = `email,note\n${Array.from({ length: 2_300 }, (_, i) => `wide${i}@x.example,${'v'.repeat(4_000)}`).join('\n')}`
    expect(wide.length).toBeGreaterThan(9_000_000)
    const reply = await importCsv(id, wide)
    expect([reply.status, reply.body.created]).toEqual([200, 2_300])
  })

  test('R-30 an owner exports the members as a file that no cache keeps, and a developer is refused', async () => {
    const id = await made({ slug: 'exported' })
    await importCsv(id, 'email,plan\nexport1@x.example,=1+1\nexport2@x.example,\n')
    const reply = await leavesNoTrace(() => owner.ask('GET', `${path}/${id}/export-csv`))
    const { headers } = reply
    expect([reply.status, headers['content-type'], headers['content-disposition'], headers['cache-control']]).toEqual([
      200,
      'text/csv; charset=utf-8',
      'attachment; filename="exported.csv"',
      'no-store',
    ])
    expect(reply.text).toBe("email,phone,name,plan\r\nexport1@x.example,,,'=1+1\r\nexport2@x.example,,,\r\n")
    expect(reply.text).toBe((await audienceClient(t, acme).exportCsv(id)).text)
    for (const who of [developer, member, viewer]) {
      const refused = await who.ask('GET', `${path}/${id}/export-csv`)
      expect([refused.status, refused.body]).toEqual([403, { error: 'Owner role required' }])
    }
  })
})

describe('sending', () => {
  test('A-062 A-161 AD-155 a developer sends a live blast under their own name, with the answer of the API', async () => {
    const own = await blastClient(t)
    const sender = await person(t, { orgId: own.orgId, role: 'developer' })
    const id = await own.audience(readers(3))
    const template = await own.template({ channel: 'email', subject: 'Hello', text: 'Dear {{name}}' })
    const { result, trail } = await withTrail(t.database, own.orgId, () =>
      sender.ask('POST', `${path}/${id}/send`, email(template)),
    )
    const jobId = result.body.job_id
    expect([result.status, result.body]).toEqual([
      200,
      {
        job_id: expect.stringMatching(/^job_/),
        audience_id: id,
        total: 3,
        scheduled: 3,
        suppressed: 0,
        deferred_quiet_hours: 0,
        starts_at: iso,
        ends_at: iso,
      },
    ])
    const metadata = { job_id: jobId, channel: 'email', count: 3, environment: 'live' }
    expect(trail).toEqual([{ ...written('audience.sent', id, metadata), actor_user_id: sender.userId }])
    const rows = await own.rows(jobId)
    expect(rows.map(({ to, environment, text }) => [to, environment, text])).toEqual(
      [0, 1, 2].map((i) => [`reader${i}@reader.test`, 'live', `Dear Reader ${i}`]),
    )
    await own.fire()
    expect((await own.outbox()).length).toBe(3)
  })

  test('AD-155 the missing variables of a blast are refused with the flat body, before a job exists', async () => {
    const own = await blastClient(t)
    const sender = await person(t, { orgId: own.orgId, role: 'owner' })
    const id = await own.audience(readers(1))
    const template = await own.template({ channel: 'email', subject: 'Hello', text: '{{code}}' })
    const reply = await sender.ask('POST', `${path}/${id}/send`, email(template))
    expect([reply.status, reply.body.code, typeof reply.body.error]).toEqual([
      422,
      'TEMPLATE_MISSING_VARIABLES',
      'string',
    ])
    expect(await own.stored()).toEqual({ messages: 0, jobs: 0 })
  })
})
