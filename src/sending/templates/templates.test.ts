import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { keyIdOf } from '../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const { live, test: testKey } = acme.keys
const leavesNoTrace = await watchTables(t.database)

type Options = { key?: string; headers?: Record<string, string> }
const at = '/api/v1/templates'
const create = (body: unknown, options: Options = {}) => t.ask('POST', at, { key: live, body, ...options })
const get = (id: string, key = live) => t.ask('GET', `${at}/${id}`, { key })
const list = (query = '', key = live) => t.ask('GET', `${at}${query}`, { key })
const patch = (id: string, body: unknown, key = live) => t.ask('PATCH', `${at}/${id}`, { key, body })
const remove = (id: string, key = live) => t.ask('DELETE', `${at}/${id}`, { key })
const preview = (body: unknown, key = live) => t.ask('POST', `${at}/preview`, { key, body })

let slugs = 0
const freshSlug = () => `slug-${++slugs}`
const email = (more: object = {}) => ({
  slug: freshSlug(),
  channel: 'email',
  subject: 'Hello {{name}}',
  html: '<p>Hi {{name}}</p>',
  ...more,
})
const sms = (more: object = {}) => ({ slug: freshSlug(), channel: 'sms', text: 'Hi {{name}}', ...more })
const idOf = async (body: unknown, key = live): Promise<string> => {
  const reply = await create(body, { key })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.id
}
const idsOf = ({ body }: Reply): string[] => body.data.map((row: { id: string }) => row.id)

const fault = (path: (string | number)[], code = 'custom') => [{ path, code, message: expect.any(String) }]

describe('routes', () => {
  describe('one template', () => {
    let created: Reply
    let id: string
    beforeAll(async () => {
      created = await create({ ...email(), slug: 'january-news', colour: 'ignored' })
      id = created.body.id
    })

    test('S-302 S-330 SD-83 is returned when it is created', () => {
      expect([created.status, created.body]).toEqual([
        201,
        {
          id: expect.stringMatching(/^tpl_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
          slug: 'january-news',
          channel: 'email',
          subject: 'Hello {{name}}',
          html: '<p>Hi {{name}}</p>',
          text: null,
          tenant_id: null,
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          updated_at: created.body.created_at,
        },
      ])
    })

    test('S-332 SD-82 can be read and listed', async () => {
      expect([(await get(id)).status, (await get(id)).body]).toEqual([200, created.body])
      expect((await list('?limit=1')).body.data).toEqual([created.body])
    })

    test('SD-82 can be changed, except for its channel', async () => {
      const changed = await patch(id, { html: null, text: 'Hi {{name}}', channel: 'sms' })
      expect([changed.status, changed.body]).toEqual([
        200,
        { ...created.body, html: null, text: 'Hi {{name}}', updated_at: expect.any(String) },
      ])
      expect((await patch(id, { slug: 'february-news', subject: 'S' })).body).toMatchObject({
        slug: 'february-news',
        subject: 'S',
        text: 'Hi {{name}}',
        channel: 'email',
      })
      expect((await get(id)).body).toMatchObject({ slug: 'february-news', subject: 'S' })
    })

    test('S-332 SD-82 is not found after it is deleted', async () => {
      const removed = await remove(id)
      expect([removed.status, removed.body]).toEqual([200, { id, deleted: true }])
      for (const request of [() => get(id), () => patch(id, { text: 'x' }), () => remove(id), () => preview({ id })]) {
        expectRefusal(await leavesNoTrace(request), 'NOT_FOUND')
      }
      expect(idsOf(await list('?limit=100'))).not.toContain(id)
    })
  })

  test('S-332 the list returns the templates of the org in pages, newest first, optionally of one channel', async () => {
    const org = await t.org({ name: 'Pages' })
    const key = org.keys.live
    const ids: string[] = []
    for (const body of [email(), sms(), email(), sms(), sms()]) ids.unshift(await idOf(body, key))
    const one = await list('?limit=3', key)
    const two = await list(`?limit=3&cursor=${one.body.next_cursor}`, key)
    expect([...idsOf(one), ...idsOf(two)]).toEqual(ids)
    expect([one.body.has_more, two.body.has_more, two.body.next_cursor]).toEqual([true, false, null])
    expect(idsOf(await list('?channel=sms', key))).toEqual([ids[0], ids[1], ids[3]])
    expect(idsOf(await list('?channel=email', key))).toEqual([ids[2], ids[4]])
    expectRefusal(await list('?channel=fax', key), 'VALIDATION_ERROR', {
      errors: fault(['channel'], 'invalid_enum'),
    })
  })

  test('S-303 S-304 S-305 SD-83 an invalid template is rejected with the path of the invalid field', async () => {
    const cases: [body: unknown, path: string[], code?: string][] = [
      ...['A', '-a', 'a-', 'a--b', 'a_b', 'a b', 'é', 'a\n', 'a.b'].map((slug): [unknown, string[], string] => [
        email({ slug }),
        ['slug'],
        'invalid_string',
      ]),
      [email({ slug: 'a'.repeat(65) }), ['slug'], 'too_big'],
      [email({ slug: undefined }), ['slug'], 'required'],
      [email({ channel: 'fax' }), ['channel'], 'invalid_enum'],
      [email({ channel: undefined }), ['channel'], 'required'],
      [email({ subject: 's'.repeat(999) }), ['subject'], 'too_big'],
      [email({ html: 'h'.repeat(1_000_001) }), ['html'], 'too_big'],
      [email({ text: 't'.repeat(1_000_001) }), ['text'], 'too_big'],
      [email({ html: 7 }), ['html'], 'invalid_type'],
      [email({ subject: undefined }), ['subject']],
      [email({ subject: null }), ['subject']],
      [email({ subject: '' }), ['subject']],
      [email({ html: null }), ['html']],
      [email({ html: '', text: '' }), ['html']],
      [sms({ text: undefined, html: '<p>no</p>', subject: 's' }), ['text']],
      [sms({ text: '' }), ['text']],
    ]
    await leavesNoTrace(async () => {
      for (const [body, path, code] of cases) {
        const label = JSON.stringify(body).slice(0, 100)
        const reply = await create(body)
        expect(reply.body.error?.code, label).toBe('VALIDATION_ERROR')
        expect(reply.body.error.errors, label).toContainEqual(fault(path, code)[0])
      }
    })
    for (const slug of ['a', '7', 'a-b-c', 'x'.repeat(64)]) {
      expect((await create(email({ slug }))).body.slug).toBe(slug)
    }
    const largest = { subject: 's'.repeat(998), html: 'h'.repeat(1_000_000), text: 't'.repeat(1_000_000) }
    expect((await create(email(largest))).body).toMatchObject(largest)
  })

  test('S-303 S-331 SD-82 a slug that another template of the org uses is rejected, on create and on patch', async () => {
    const taken = freshSlug()
    const id = await idOf(email({ slug: taken }))
    const other = await idOf(sms())
    for (const request of [
      () => create(email({ slug: taken })),
      () => create(sms({ slug: taken })),
      () => patch(other, { slug: taken, text: 'New' }),
    ]) {
      expectRefusal(await leavesNoTrace(request), 'TEMPLATE_SLUG_TAKEN')
    }
    expect((await patch(id, { slug: taken })).status).toBe(200)
    const { keys } = await t.org({ name: 'Free slugs' })
    expect((await create(email({ slug: taken }), { key: keys.live })).status).toBe(201)
    const concurrent = await Promise.all(Array.from({ length: 6 }, () => create(sms({ slug: 'contested' }))))
    expect(concurrent.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
  })

  test('SD-82 a change without fields, or one that leaves an incomplete template, is rejected', async () => {
    const [mail, text] = [await idOf(email()), await idOf(sms())]
    await leavesNoTrace(async () => {
      for (const body of [{}, { channel: 'sms' }, { other: 1 }]) expectRefusal(await patch(mail, body), 'NO_FIELDS')
      for (const [id, body, path] of [
        [mail, { html: null }, 'html'],
        [mail, { html: '' }, 'html'],
        [mail, { subject: null }, 'subject'],
        [text, { text: null }, 'text'],
        [text, { text: '', html: '<p>no</p>' }, 'text'],
      ] as const) {
        expectRefusal(await patch(id, body), 'VALIDATION_ERROR', { errors: fault([path]) })
      }
      expectRefusal(await patch(mail, { slug: null }), 'VALIDATION_ERROR', {
        errors: fault(['slug'], 'invalid_type'),
      })
    })
  })

  test('SD-82 concurrent changes of different fields are both applied', async () => {
    const id = await idOf(email())
    for (let i = 0; i < 8; i++) {
      await Promise.all([patch(id, { subject: `S${i}` }), patch(id, { text: `T${i}` })])
      expect((await get(id)).body).toMatchObject({ subject: `S${i}`, text: `T${i}` })
    }
  })

  test('A-155 A-156 A-157 each change writes one audit entry with the key and without the content', async () => {
    const { result, trail } = await withTrail(t.database, acme.org.id, async () => {
      const id = await idOf(email({ slug: 'audited' }))
      await patch(id, { text: 'secret words' })
      await remove(id)
      return id
    })
    const by = { via: 'api_key', api_key_id: await keyIdOf(t, live) }
    expect(
      trail.map(({ action, resource_type, resource_id, metadata }) => [action, resource_type, resource_id, metadata]),
    ).toEqual(
      ['template.created', 'template.updated', 'template.removed'].map((action) => [
        action,
        'template',
        result,
        { slug: 'audited', channel: 'email', ...by },
      ]),
    )
  })

  test('reading and writing templates need separate scopes, and a preview needs the read scope', async () => {
    const id = await idOf(sms({ text: 'Hi' }))
    const reader = await t.key(acme.org.id, { scopes: ['read:templates'] })
    const writer = await t.key(acme.org.id, { scopes: ['write:templates'] })
    for (const request of [
      () => create(sms(), { key: reader }),
      () => patch(id, { text: 'x' }, reader),
      () => remove(id, reader),
    ]) {
      expectRefusal(await leavesNoTrace(request), 'INSUFFICIENT_SCOPE')
    }
    for (const request of [() => list('', writer), () => get(id, writer), () => preview({ id }, writer)]) {
      expectRefusal(await request(), 'INSUFFICIENT_SCOPE')
    }
    expect((await preview({ id }, reader)).status).toBe(200)
  })
})

describe('ownership', () => {
  test("A-262 SD-84 XD-09 a tenant creates and changes its own templates and can read the org's", async () => {
    const org = await t.org({ name: 'Tenants' })
    const [mine, theirs] = [await t.tenant(org.org.id), await t.tenant(org.org.id)]
    const [myKey, theirKey] = [
      await t.key(org.org.id, { tenantId: mine }),
      await t.key(org.org.id, { tenantId: theirs }),
    ]
    const root = org.keys.live
    const shared = await idOf(sms({ slug: 'welcome', text: 'org' }), root)
    const own = await idOf(sms({ slug: 'welcome', text: 'mine' }), myKey)
    const foreign = await idOf(sms({ slug: 'welcome', text: 'theirs' }), theirKey)
    expectRefusal(await create(sms({ slug: 'welcome' }), { key: myKey }), 'TEMPLATE_SLUG_TAKEN')
    expect((await get(own, myKey)).body.tenant_id).toBe(mine)

    expect(idsOf(await list('', myKey))).toEqual([own, shared])
    expect(idsOf(await list('', theirKey))).toEqual([foreign, shared])
    expect(idsOf(await list('', root))).toEqual([foreign, own, shared])
    const one = await list('?limit=1', myKey)
    expect([...idsOf(one), ...idsOf(await list(`?limit=1&cursor=${one.body.next_cursor}`, myKey))]).toEqual([
      own,
      shared,
    ])
    expect((await get(shared, myKey)).status).toBe(200)
    for (const request of [() => get(foreign, myKey), () => preview({ id: foreign }, myKey)]) {
      expectRefusal(await request(), 'NOT_FOUND')
    }
    for (const id of [shared, foreign]) {
      for (const request of [() => patch(id, { text: 'x' }, myKey), () => remove(id, myKey)]) {
        expectRefusal(await leavesNoTrace(request), 'TENANT_FORBIDDEN')
      }
    }
    expect((await preview({ slug: 'welcome' }, myKey)).body).toMatchObject({ id: own, text: 'mine' })
    expect((await preview({ slug: 'welcome' }, root)).body).toMatchObject({ id: shared, text: 'org' })
    expect((await preview({ id: foreign }, root)).body.text).toBe('theirs')
    expect((await patch(own, { text: 'changed' }, myKey)).status).toBe(200)
    expect((await patch(foreign, { text: 'by the platform' }, root)).status).toBe(200)
    await remove(shared, root)
    expectRefusal(await preview({ slug: 'welcome' }, root), 'TEMPLATE_TENANT_SCOPED')
  })

  test('X-201 XD-10 a test key creates templates and changes only templates that a test key created', async () => {
    const [byLive, byTest] = [await idOf(sms()), await idOf(sms(), testKey)]
    for (const request of [() => patch(byLive, { text: 'x' }, testKey), () => remove(byLive, testKey)]) {
      expectRefusal(await leavesNoTrace(request), 'ENVIRONMENT_ESCALATION')
    }
    expect((await get(byLive, testKey)).status).toBe(200)
    expect((await patch(byTest, { text: 'x' }, testKey)).status).toBe(200)
    expect((await patch(byTest, { text: 'by live' })).status).toBe(200)
    expect((await remove(byTest, testKey)).status).toBe(200)
  })

  test('AD-107 erasing a tenant deletes only its own templates', async () => {
    const org = await t.org({ name: 'Erased' })
    const [erased, kept] = [await t.tenant(org.org.id), await t.tenant(org.org.id)]
    const shared = await idOf(sms(), org.keys.live)
    await idOf(sms(), await t.key(org.org.id, { tenantId: erased }))
    const ofKept = await idOf(sms(), await t.key(org.org.id, { tenantId: kept }))
    await t.ask('DELETE', `/api/v1/tenants/${erased}`, { key: org.keys.live })
    expect((await t.ask('POST', `/api/v1/tenants/${erased}/erase`, { key: org.keys.live })).status).toBe(200)
    expect(idsOf(await list('', org.keys.live))).toEqual([ofKept, shared])
  })
})

describe('preview', () => {
  test('S-333 S-321 renders by id or slug and escapes values only in html', async () => {
    const body = email({ slug: 'previewed', text: 'Hi {{name}}' })
    const id = await idOf(body)
    const variables = { name: 'Ann & <Bob>' }
    for (const reference of [{ id }, { slug: 'previewed' }]) {
      const reply = await leavesNoTrace(() => preview({ ...reference, variables }))
      expect([reply.status, reply.body]).toEqual([
        200,
        {
          id,
          slug: 'previewed',
          channel: 'email',
          subject: 'Hello Ann & <Bob>',
          html: '<p>Hi Ann &amp; &lt;Bob&gt;</p>',
          text: 'Hi Ann & <Bob>',
          warnings: [],
        },
      ])
    }
    expect((await patch(id, { text: 'Bye {{name}}' })).status).toBe(200)
    expect((await preview({ id, variables })).body.text).toBe('Bye Ann & <Bob>')
  })

  test('warns of braces that are not in the language, with their place and what to write', async () => {
    const id = await idOf(
      email({
        subject: '{{{name}}}',
        html: '<p>\n  {{! internal }} {{name}}\n{{#each l}}{{../name}}{{/each}}</p>',
        text: '{{#if a}}A{{else if b}}B{{/if}}',
      }),
    )
    const reply = await leavesNoTrace(() => preview({ id, variables: { name: 'Ann', l: [1] } }))
    expect([reply.status, reply.body.subject]).toEqual([200, '{Ann}'])
    expect(reply.body.warnings).toEqual([
      {
        field: 'subject',
        line: 1,
        column: 1,
        code: 'triple_braces',
        message: 'The outer braces of {{{name}}} are sent as text. Write {{name}}: values in html are always escaped.',
      },
      {
        field: 'html',
        line: 2,
        column: 3,
        code: 'comment',
        message: '{{! internal }} is sent as text: there are no comments in templates. Remove it.',
      },
      {
        field: 'html',
        line: 3,
        column: 12,
        code: 'parent_path',
        message:
          '{{../name}} is sent as text. Write {{name}}: a name that the item does not have is looked up outside the loop.',
      },
      {
        field: 'text',
        line: 1,
        column: 11,
        code: 'else_if',
        message: '{{else if b}} is sent as text. Write {{else}}{{#if b}} and close both blocks with {{/if}}{{/if}}.',
      },
    ])
  })

  test('S-305 renders only the text of an SMS template and requires only its variables', async () => {
    const id = await idOf(sms({ subject: '{{subject_only}}', html: '{{html_only}}' }))
    expect((await preview({ id, variables: { name: 'Ann' } })).body).toMatchObject({
      channel: 'sms',
      subject: null,
      html: null,
      text: 'Hi Ann',
    })
  })

  test('S-324 X-232 SD-86 R-16 reports every missing variable once, in order', async () => {
    const id = await idOf(
      email({
        subject: '{{a}}',
        html: '{{b.c}}{{a}}{{#each l}}{{x}}{{/each}}',
        text: '{{d}}{{#if e}}{{f}}{{/if}}',
      }),
    )
    const row = (name: string) => ({ path: ['variables', name], code: 'required', message: 'Required.' })
    const errors = ['a', 'b.c', 'l', 'd'].map(row)
    expectRefusal(await preview({ id }), 'TEMPLATE_MISSING_VARIABLES', { errors })
    expectRefusal(await preview({ id, variables: { a: null, b: null, l: [], d: 1 } }), 'TEMPLATE_MISSING_VARIABLES', {
      errors: [row('b.c')],
    })
    expect((await preview({ id, variables: { a: null, 'b.c': null, l: 'x', d: 0 } })).status).toBe(200)
  })

  test('SD-86 reports at most 1,000 missing variables', async () => {
    const id = await idOf(sms({ text: Array.from({ length: 1_500 }, (_, i) => `{{n${i}}}`).join('') }))
    expect((await preview({ id })).body.error.errors).toHaveLength(1_000)
  })

  const list80 = new Array(80).fill(1)
  test.for([
    {
      title: 'S-339 X-229 X-346 more than 5,000 loop iterations are rejected with 413',
      text: '{{#each l}}{{#each l}}.{{/each}}{{/each}}',
      variables: { l: list80 },
      message: 'The loops of the template run more than 5,000 times.',
    },
    {
      title: 'S-340 X-229 X-346 more than 2,000,000 loop characters are rejected with 413',
      text: `{{#each l}}${'x'.repeat(30_000)}{{/each}}`,
      variables: { l: list80 },
      message: 'The loops of the template produce more than 2,000,000 characters.',
    },
    {
      title: 'S-341 X-229 X-346 more than 10,000,000 characters are rejected with 413',
      text: '{{v}}'.repeat(200),
      variables: { v: 'v'.repeat(60_000) },
      message: 'The template renders to more than 10,000,000 characters.',
    },
  ])('$title', async ({ text, variables, message }) => {
    const id = await idOf(sms({ text }))
    expectRefusal(await preview({ id, variables }), 'PAYLOAD_TOO_LARGE', { message })
  })

  test('S-342 S-343 S-344 rejects variables that are too deep, too large or not finite with their path', async () => {
    const id = await idOf(sms())
    const deep = JSON.parse(`${'['.repeat(11)}${']'.repeat(11)}`)
    expectRefusal(await preview({ id, variables: { name: deep } }), 'VALIDATION_ERROR', {
      errors: fault(['variables', 'name', ...new Array(10).fill(0)]),
    })
    expectRefusal(await preview({ id, variables: { name: 'x'.repeat(65_526) } }), 'VALIDATION_ERROR', {
      errors: fault(['variables'], 'too_big'),
    })
    const raw = `{"id":"${id}","variables":{"name":[1e999]}}`
    expectRefusal(await t.ask('POST', `${at}/preview`, { key: live, raw }), 'VALIDATION_ERROR', {
      errors: fault(['variables', 'name', 0]),
    })
  })

  test('S-342 variables nested thousands of levels deep are rejected at the path where they are too deep', async () => {
    const id = await idOf(sms())
    const ask = (raw: string) => t.ask('POST', `${at}/preview`, { key: live, raw })
    const nested = (open: string, close: string) => open.repeat(5_000) + close.repeat(5_000)
    for (const [json, step] of [
      [nested('[', ']'), 0],
      [`[1,"]",{"x":[]},${nested('[', ']')}]`, 0],
      [`${'{"k\\"ey":'.repeat(5_000)}1${'}'.repeat(5_000)}`, 'k"ey'],
    ] as const) {
      const first = json.startsWith('[1') ? 3 : step
      const path = ['variables', 'name', first, ...new Array(9).fill(step)]
      const errors = [{ path, code: 'custom', message: 'The body is nested too deeply.' }]
      expectRefusal(await ask(`{"id":"${id}","variables":{"a":[[1]],"name":${json}}}`), 'VALIDATION_ERROR', { errors })
    }
  })

  test('S-333 needs either an id or a slug and returns 404 for an unknown one', async () => {
    for (const body of [{}, { id: newId('template'), slug: 'x' }, { variables: {} }]) {
      expectRefusal(await preview(body), 'VALIDATION_ERROR', { errors: fault(['id']) })
    }
    for (const body of [{ id: newId('template') }, { id: 'x' }, { slug: 'nobody-has-it' }, { slug: 'É' }]) {
      expectRefusal(await preview(body), 'NOT_FOUND')
    }
  })
})
