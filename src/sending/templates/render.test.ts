import { afterAll, describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/service/service.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { linkMark, makeCompiledTemplates } from './compiled.ts'
import { makeRenderTemplates, type RenderRequest } from './render.ts'
import type { TemplateRow } from './store.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const scope: Scope = { orgId: acme.org.id, tenantId: null, environment: 'live', projectId: null }
const { templates } = t.service.modules

const create = async (body: object, key = acme.keys.live): Promise<string> => {
  const reply = await t.ask('POST', '/api/v1/templates', { key, body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.id
}
const patch = async (id: string, body: object) => {
  expect((await t.ask('PATCH', `/api/v1/templates/${id}`, { key: acme.keys.live, body })).status).toBe(200)
}
const render = (request: Partial<RenderRequest> & { slug: string }, where = scope) =>
  templates.render(where, { channel: 'email', variables: {}, given: {}, ...request })

const rejection = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Failure)) throw error ?? new Error('nothing was rejected')
  return [error.code, error.detail.errors?.map(({ path }) => path)]
}

await create({
  slug: 'mail',
  channel: 'email',
  subject: 'For {{name}}',
  html: '<p>{{name}}</p>',
  text: '{{name}}',
})
await create({ slug: 'short', channel: 'sms', subject: '{{unused}}', text: 'Hi {{name}}' })

describe('rendering a send', () => {
  test('S-084 S-321 SD-34 subject, html and text come from the template', async () => {
    expect(await render({ slug: 'mail', variables: { name: 'A & B' } })).toEqual({
      subject: 'For A & B',
      html: '<p>A &amp; B</p>',
      text: 'A & B',
    })
    await create({
      slug: 'linked',
      channel: 'email',
      subject: 'S',
      html: '<a href="{{ unsubscribe_url }}">x</a>',
    })
    expect(await render({ slug: 'linked', variables: { unsubscribe_url: 'https://evil.example' } })).toEqual({
      subject: 'S',
      html: `<a href="${linkMark}">x</a>`,
      text: null,
    })
  })

  test('S-305 S-328 an SMS uses the text alone', async () => {
    const all = { subject: null, html: null, text: 'Hi Ann' }
    expect(await render({ slug: 'short', channel: 'sms', variables: { name: 'Ann' } })).toEqual(all)
    expect(await render({ slug: 'short', channel: 'sms', given: { text: 'Own', subject: 'no', html: 'no' } })).toEqual({
      ...all,
      text: 'Own',
    })
  })

  test('S-328 SD-34 SD-86 content of the send overrides the template and is not rendered or checked', async () => {
    const variables = { name: 'Ann' }
    expect(await render({ slug: 'mail', variables, given: { html: '<b>{{own}}</b>' } })).toEqual({
      subject: 'For Ann',
      html: '<b>{{own}}</b>',
      text: 'Ann',
    })
    const given = { subject: '{{a}}', html: '', text: 'T' }
    expect(await render({ slug: 'mail', given })).toEqual(given)
    expect(await rejection(render({ slug: 'mail', given: { subject: 's', html: 'h' } }))).toEqual([
      'TEMPLATE_MISSING_VARIABLES',
      [['variables', 'name']],
    ])
  })

  test('X-205 SD-52 an unknown slug and a template of another channel are rejected at the path template', async () => {
    const variables = { name: 'Ann' }
    const otherOrg = { ...scope, orgId: (await t.org({ name: 'Other' })).org.id }
    for (const request of [
      () => render({ slug: 'nobody-has-it', variables }),
      () => render({ slug: 'short', variables }),
      () => render({ slug: 'mail', channel: 'sms', variables }),
      () => render({ slug: 'mail', variables }, otherOrg),
    ]) {
      expect(await rejection(request())).toEqual(['VALIDATION_ERROR', [['template']]])
    }
  })

  test('S-306 SD-30 an email that renders to nothing is rejected, and one part is enough', async () => {
    await create({ slug: 'empty', channel: 'email', subject: 'S', html: '{{x}}', text: '{{#if y}}y{{/if}}' })
    expect(await rejection(render({ slug: 'empty', variables: { x: '' } }))).toEqual([
      'VALIDATION_ERROR',
      [['template']],
    ])
    expect(await render({ slug: 'empty', variables: { x: '', y: 1 } })).toMatchObject({
      html: '',
      text: 'y',
    })
    expect(await render({ slug: 'empty', given: { html: 'h', text: '' } })).toMatchObject({ html: 'h' })
  })

  test('S-109 S-339 X-229 a template that exceeds a cap is rejected', async () => {
    await create({
      slug: 'loops',
      channel: 'email',
      subject: 'S',
      text: '{{#each l}}{{#each l}}.{{/each}}{{/each}}',
    })
    expect(await rejection(render({ slug: 'loops', variables: { l: new Array(80).fill(1) } }))).toEqual([
      'PAYLOAD_TOO_LARGE',
      undefined,
    ])
  })

  test('line breaks in a value cannot start another header, because the subject is one line', async () => {
    const variables = { name: 'Ann\r\nBcc: all@example.com\n\nx\ry' }
    const { subject, text } = await render({ slug: 'mail', variables })
    expect(subject).toBe('For Ann Bcc: all@example.com x y')
    expect(text).toBe(variables.name)
  })

  test("X-234 SD-84 the tenant's template comes first, and only the org gets TEMPLATE_TENANT_SCOPED", async () => {
    const [one, two] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
    const oneKey = await t.key(acme.org.id, { tenantId: one })
    const as = (tenantId: string | null): Scope => ({ ...scope, tenantId })
    const text = async (slug: string, where: Scope) => (await render({ slug, channel: 'sms' }, where)).text
    await create({ slug: 'both', channel: 'sms', text: 'org' })
    await create({ slug: 'both', channel: 'sms', text: 'one' }, oneKey)
    await create({ slug: 'only-one', channel: 'sms', text: 'only' }, oneKey)
    expect([await text('both', as(one)), await text('both', as(two)), await text('both', as(null))]).toEqual([
      'one',
      'org',
      'org',
    ])
    expect(await text('only-one', as(one))).toBe('only')
    expect(await rejection(text('only-one', as(null)))).toEqual(['TEMPLATE_TENANT_SCOPED', undefined])
    expect(await rejection(text('only-one', as(two)))).toEqual(['VALIDATION_ERROR', [['template']]])
  })
})

describe('caches', () => {
  test('a change applies to the next render, in this process and in another one', async () => {
    const other = await startTestService({ database: t.database })
    try {
      const id = await create({ slug: 'changing', channel: 'sms', text: 'one' })
      const request: RenderRequest = { slug: 'changing', channel: 'sms', variables: {}, given: {} }
      const both = [templates, other.service.modules.templates]
      for (const each of both) expect((await each.render(scope, request)).text).toBe('one')
      await patch(id, { text: 'two' })
      expect((await templates.render(scope, request)).text).toBe('two')
      await expect.poll(async () => (await both[1]?.render(scope, request))?.text).toBe('two')
      await t.database.sql("update templates set text = 'three', version = version + 1 where id = $1", [id])
      for (const each of both) await expect.poll(async () => (await each.render(scope, request)).text).toBe('three')
      await t.database.sql('delete from templates where id = $1', [id])
      for (const each of both) {
        await expect
          .poll(() => rejection(each.render(scope, request)).catch(() => 'rendered'))
          .toEqual(['VALIDATION_ERROR', [['template']]])
      }
    } finally {
      await other.stop()
    }
  })

  test('a template is read once while notifications arrive, and every time while they do not', async () => {
    let reads = 0
    const { db } = t.service.modules
    const counting = {
      ...db,
      row: ((...args: Parameters<typeof db.row>) => {
        reads++
        return db.row(...args)
      }) as typeof db.row,
    }
    const request: RenderRequest = { slug: 'mail', channel: 'email', variables: { name: 'x' }, given: {} }
    for (const [trusted, expected] of [
      [true, 1],
      [false, 3],
    ] as const) {
      reads = 0
      const own = makeRenderTemplates({ db: counting, trusted: () => trusted })
      for (let i = 0; i < 3; i++) await own.render(scope, request)
      expect(reads).toBe(expected)
      own.forgetOrg(scope.orgId)
      await own.render(scope, request)
      own.forgetAll()
      await own.render(scope, request)
      expect(reads).toBe(expected + 2)
    }
  })

  test('compiled templates are cached by id and version up to a size, and the least recently used are evicted', () => {
    const row = (id: string, version = 1, text = 'x'.repeat(1_000)): TemplateRow => ({
      id,
      version,
      text,
      tenant_id: null,
      slug: id,
      channel: 'sms',
      subject: null,
      html: null,
      created_environment: 'live',
      created_at: new Date(0),
      updated_at: new Date(0),
    })
    const cache = makeCompiledTemplates(3_500)
    const a = cache.of(row('a'))
    expect(cache.of(row('a'))).toBe(a)
    expect(cache.of(row('a', 2))).not.toBe(a)
    expect(cache.cached('a', 1)).toBe(a)
    cache.of(row('b'))
    cache.of(row('c'))
    expect(['a1', 'a2', 'b1', 'c1'].map((key) => cache.cached(key[0] as string, Number(key[1])) !== undefined)).toEqual(
      [true, false, true, true],
    )
    // A template that is larger than the cache is compiled but not kept.
    expect(cache.of(row('huge', 1, 'y'.repeat(4_000))).text?.render({})).toHaveLength(4_000)
    expect([cache.cached('huge', 1), cache.cached('a', 1)]).toEqual([undefined, a])
  })
})
