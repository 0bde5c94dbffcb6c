import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { dltClient } from '../../../../test/clients/dlt-client.ts'
import { keyIdOf } from '../../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const acme = await t.org()
const { live, test: testKey } = acme.keys
const orgId = acme.org.id
const dlt = dltClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const idLike = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`))
const fault = (path: string, message: string) => ({ errors: [{ path: [path], code: 'custom', message }] })
const idsOf = ({ body }: Reply): string[] => body.data.map((row: { id: string }) => row.id)
const pathsOf = ({ status, body }: Reply) => [
  status,
  body.error.code,
  body.error.errors.map((error: { path: string[] }) => error.path.join('.')),
]

describe('registrations', () => {
  test('R-06 XD-29 are created, read and deleted, with audit entries', async () => {
    const keyId = await keyIdOf(t, live)
    const { result, trail } = await withTrail(t.database, orgId, async () => {
      const entity = await dlt.create('entities', { entity_id: '1101234567890123456', legal_name: 'Acme India' })
      expect([entity.status, entity.body]).toEqual([
        201,
        {
          id: idLike('dle'),
          entity_id: '1101234567890123456',
          legal_name: 'Acme India',
          status: 'pending',
          rejection_reason: null,
          created_at: instant,
        },
      ])
      const given = { entity: entity.body.id, header: 'ACMEIN', category: 'transactional' }
      const header = await dlt.create('headers', given)
      expect([header.status, header.body]).toEqual([
        201,
        { id: idLike('dlh'), ...given, status: 'pending', rejection_reason: null, created_at: instant },
      ])
      const text = { name: 'OTP', category: 'service_implicit', content: 'Your code is {#var#}' }
      const names = { entity: entity.body.id, header: header.body.id }
      const template = await dlt.create('templates', { ...names, ...text })
      expect([template.status, template.body]).toEqual([
        201,
        {
          id: idLike('dlt'),
          ...names,
          ...text,
          status: 'pending',
          entity_id: '1101234567890123456',
          provider_template_id: null,
          rejection_reason: null,
          created_at: instant,
          updated_at: instant,
        },
      ])
      const made = { entities: entity, headers: header, templates: template }
      for (const [noun, { body }] of Object.entries(made)) {
        const read = await dlt.get(noun, body.id)
        expect([read.status, read.body]).toEqual([200, body])
      }
      for (const [noun, { body }] of Object.entries(made).reverse()) {
        const removed = await dlt.remove(noun, body.id)
        expect([removed.status, removed.body]).toEqual([200, { id: body.id, deleted: true }])
        expectRefusal(await dlt.get(noun, body.id), 'NOT_FOUND')
        expectRefusal(await dlt.remove(noun, body.id), 'NOT_FOUND')
      }
      return [entity.body.id, header.body.id, template.body.id] as const
    })
    const [entity, header, template] = result
    const by = { api_key_id: keyId, via: 'api_key' }
    const ofEntity = { ...by, kind: 'entity', entity_id: '1101234567890123456', legal_name: 'Acme India' }
    const ofHeader = { ...by, kind: 'header', entity, header: 'ACMEIN', category: 'transactional' }
    const ofTemplate = { ...by, kind: 'template', entity, header, name: 'OTP', category: 'service_implicit' }
    const entry = (action: string, resource_id: string, metadata: object) => ({
      action,
      resource_type: 'dlt',
      resource_id,
      metadata,
    })
    expect(trail).toMatchObject([
      entry('dlt.created', entity, ofEntity),
      entry('dlt.created', header, ofHeader),
      entry('dlt.created', template, ofTemplate),
      entry('dlt.removed', template, ofTemplate),
      entry('dlt.removed', header, ofHeader),
      entry('dlt.removed', entity, ofEntity),
    ])
  })

  test('S-231 a header creates no phone number', async () => {
    const count = () => t.database.sql('select count(*) as n from phone_numbers')
    const before = await count()
    await dlt.header()
    expect(await count()).toEqual(before)
  })

  test.for([
    ['ACM', 'transactional'],
    ['acmein', 'service_implicit'],
    ['ACMEIN', 'service_explicit'],
    ['ACME', 'promotional'],
    ['612345', 'promotional'],
  ])('XD-29 %s is a %s header', async ([header, category]) => {
    const made = await dlt.create('headers', { entity: await dlt.entity(), header, category })
    expect([made.status, made.body.header, made.body.category]).toEqual([201, header, category])
  })

  test.for([
    ['AC', 'transactional'],
    ['ACMEIND', 'transactional'],
    ['ACM3IN', 'promotional'],
    ['61234', 'promotional'],
    ['6123456', 'promotional'],
    ['612345', 'transactional'],
    ['', 'promotional'],
  ])('XD-29 "%s" is no %s header', async ([header, category]) => {
    const entity = await dlt.entity()
    await leavesNoTrace(async () =>
      expect(pathsOf(await dlt.create('headers', { entity, header, category }))).toEqual([
        422,
        'VALIDATION_ERROR',
        ['header'],
      ]),
    )
  })

  test('XD-29 an entity id has 19 digits, and a category is one of four', async () => {
    const entity = await dlt.entity()
    await leavesNoTrace(async () => {
      for (const entity_id of ['110123456789012345', '11012345678901234567', '110123456789012345x', 1101]) {
        const reply = await dlt.create('entities', { entity_id, legal_name: 'Acme' })
        expect(pathsOf(reply)).toEqual([422, 'VALIDATION_ERROR', ['entity_id']])
      }
      const reply = await dlt.create('headers', { entity, header: 'ACME', category: 'other' })
      expect(pathsOf(reply)).toEqual([422, 'VALIDATION_ERROR', ['category']])
    })
  })

  test('a header needs an entity, and a template a header of its entity', async () => {
    const away = dltClient(t, await t.org({ name: 'Away' }))
    const [entity, header, other, theirs] = [
      await dlt.entity(),
      await dlt.header(),
      await dlt.entity(),
      await away.entity(),
    ]
    const template = { name: 'OTP', category: 'transactional', content: 'Hello' }
    const noEntity = fault('entity', 'There is no such entity.')
    await leavesNoTrace(async () => {
      for (const unknown of [newId('dltEntity'), theirs, header, 'x']) {
        const ofHeader = { entity: unknown, header: 'ACME', category: 'transactional' }
        expectRefusal(await dlt.create('headers', ofHeader), 'VALIDATION_ERROR', noEntity)
        expectRefusal(
          await dlt.create('templates', { ...template, entity: unknown, header }),
          'VALIDATION_ERROR',
          noEntity,
        )
      }
      const noHeader = fault('header', 'The entity has no such header.')
      for (const [of, unknown] of [
        [entity, newId('dltHeader')],
        [entity, 'x'],
        [other, header],
      ]) {
        const reply = await dlt.create('templates', { ...template, entity: of, header: unknown })
        expectRefusal(reply, 'VALIDATION_ERROR', noHeader)
      }
    })
  })

  test('S-009 S-010 lists are read page by page, newest first', async () => {
    const own = dltClient(t, await t.org({ name: 'Pages' }))
    const header = await own.header()
    const made: string[] = []
    for (let n = 0; n < 5; n++) made.unshift(await own.template({ header }))
    const read: string[] = []
    let cursor = ''
    do {
      const page = await own.list('templates', `?limit=2&cursor=${cursor}`)
      read.push(...idsOf(page))
      cursor = page.body.next_cursor ?? ''
    } while (cursor !== '')
    expect(read).toEqual(made)
    expect(idsOf(await own.list('headers'))).toEqual([header])
    expect(idsOf(await own.list('entities'))).toHaveLength(1)
  })

  test('XD-29 an entity with headers and a header with templates are DLT_IN_USE', async () => {
    const template = await dlt.template()
    const { entity, header } = (await dlt.get('templates', template)).body
    await leavesNoTrace(async () => {
      expectRefusal(await dlt.remove('entities', entity), 'DLT_IN_USE')
      expectRefusal(await dlt.remove('headers', header), 'DLT_IN_USE')
    })
  })

  test('R-39 a template that a scheduled message needs is DLT_IN_USE until the message is canceled', async () => {
    const template = await dlt.template()
    await dlt.poll()
    const scheduled_at = new Date(t.service.clock.millis() + 600_000).toISOString()
    const message = await t.ask('POST', '/api/v1/sms', {
      key: live,
      body: { from: 'TIDINGS', to: '+919876543210', body: 'Hello', dlt_template_id: template, scheduled_at },
    })
    expect(message.status, message.text).toBe(200)
    await leavesNoTrace(async () => expectRefusal(await dlt.remove('templates', template), 'DLT_IN_USE'))
    expect((await t.ask('DELETE', `/api/v1/sms/${message.body.id}`, { key: live })).status).toBe(200)
    expect((await dlt.remove('templates', template)).status).toBe(200)
  })
})

describe('access', () => {
  test('XD-09 SD-60 a tenant key reads registrations and cannot change them', async () => {
    const key = await t.key(orgId, { tenantId: await t.tenant(orgId) })
    const template = await dlt.template()
    const { entity, header } = (await dlt.get('templates', template, key)).body
    expect((await dlt.get('entities', entity, key)).status).toBe(200)
    expect((await dlt.get('headers', header, key)).status).toBe(200)
    expect(idsOf(await dlt.list('templates', '?limit=100', key))).toContain(template)
    await leavesNoTrace(async () => {
      expectRefusal(await dlt.remove('templates', template, key), 'TENANT_KEY_FORBIDDEN')
      const given = { entity, header: 'ACME', category: 'transactional' }
      expectRefusal(await dlt.create('headers', given, key), 'TENANT_KEY_FORBIDDEN')
    })
  })

  test('XD-10 a test key deletes only what a test key registered', async () => {
    const template = await dlt.template()
    const simulated = await dlt.template({ key: testKey })
    await leavesNoTrace(async () =>
      expectRefusal(await dlt.remove('templates', template, testKey), 'ENVIRONMENT_ESCALATION'),
    )
    expect((await dlt.get('templates', template, testKey)).status).toBe(200)
    expect((await dlt.remove('templates', simulated, testKey)).status).toBe(200)
  })

  test('a live key cannot register under an entity or header of a test key', async () => {
    const entity = await dlt.entity(testKey)
    const header = await dlt.header({ key: testKey, entity: await dlt.entity() })
    const ofHeader = (await dlt.get('headers', header)).body.entity
    const given = { name: 'OTP', category: 'transactional', content: 'Hello' }
    await leavesNoTrace(async () => {
      const reply = await dlt.create('headers', { entity, header: 'ACME', category: 'transactional' })
      expectRefusal(reply, 'VALIDATION_ERROR', fault('entity', 'There is no such entity.'))
      const other = await dlt.create('templates', { ...given, entity: ofHeader, header })
      expectRefusal(other, 'VALIDATION_ERROR', fault('header', 'The entity has no such header.'))
    })
    expect((await dlt.create('templates', { ...given, entity: ofHeader, header }, testKey)).status).toBe(201)
  })
})
