/** What people read when a request of the dashboard fails, whatever has answered it. */
import { join } from 'node:path'
import { createElement, type FunctionComponent } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { FieldFault } from '../../web/src/api/api-error.ts'

const source = join(import.meta.dirname, '..', '..', 'web', 'src')
/** The sources of the dashboard have other compiler options, so they are loaded without their types. */
const load = (file: string) => import(join(source, file))

type Ask = () => Promise<unknown>
let ask: Record<'a route' | 'a development tool', Ask>
let render: (error: unknown) => string

beforeAll(async () => {
  vi.stubGlobal('location', { origin: 'http://dashboard.test' })
  const [{ api, unwrap }, { readOutbox }, { ErrorNote }] = await Promise.all([
    load('api/client.ts'),
    load('api/dev-tools.ts'),
    load('ui/error-note.tsx'),
  ])
  ask = {
    'a route': () => unwrap(api.GET('/api/internal/org')),
    'a development tool': () => readOutbox('email', ''),
  }
  render = (error) =>
    renderToStaticMarkup(createElement(ErrorNote as FunctionComponent<{ error: unknown }>, { error }))
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll('&quot;', '"')
      .replaceAll(/\s+/g, ' ')
      .trim()
})
afterEach(() => vi.restoreAllMocks())
afterAll(() => vi.unstubAllGlobals())

const json =
  (body: unknown, status = 422) =>
  () =>
    Response.json(body, { status, headers: { 'x-request-id': 'req_1' } })
const text =
  (body: string | null, status: number, type = 'text/html') =>
  () =>
    new Response(body, { status, headers: { 'content-type': type } })

const answers: [string, () => Response, string][] = [
  [
    'the envelope of the API',
    json({ error: { type: 'x', code: 'NOT_FOUND', message: 'No such key.' } }),
    'No such key. Request req_1',
  ],
  ['the envelope of the dashboard', json({ error: 'Owner role required' }, 403), 'Owner role required Request req_1'],
  [
    'an error of OAuth',
    json({ error: 'invalid_grant', error_description: 'The code is used.' }),
    'The code is used. Request req_1',
  ],
  ['an error of SCIM', json({ schemas: [], detail: 'No such group.', status: '404' }), 'No such group. Request req_1'],
  ['a message at the top', json({ statusCode: 400, error: {}, message: 'Bad cursor.' }), 'Bad cursor. Request req_1'],
  [
    'objects where texts belong',
    json({ error: { message: { en: 'x' }, code: {}, errors: {} } }),
    'The service answered 422. Request req_1',
  ],
  ['an empty object', json({}), 'The service answered 422. Request req_1'],
  ['a list', json([{ error: 'x' }]), 'The service answered 422. Request req_1'],
  ['null', json(null), 'The service answered 422. Request req_1'],
  ['a number', json(7), 'The service answered 422. Request req_1'],
  ['a page of a proxy', text('<html><h1>502 Bad Gateway</h1></html>', 502), 'The service answered 502.'],
  ['an empty answer', text('', 500), 'The service answered 500.'],
  ['no body at all', text(null, 503), 'The service answered 503.'],
  ['half a body', text('{"error":{"mess', 504, 'application/json'), 'The service answered 504.'],
  [
    'a page in the place of data',
    text('<html>Welcome</html>', 200),
    'The answer cannot be read. A proxy may have replaced it.',
  ],
]

for (const kind of ['a route', 'a development tool'] as const) {
  test.each(answers)(`People read what ${kind} answers with %s`, async (_, answer, shown) => {
    vi.spyOn(globalThis, 'fetch').mockImplementation(async () => answer())
    const error = await ask[kind]().then(
      () => expect.unreachable(),
      (fault: unknown) => fault,
    )
    expect(render(error)).toBe(shown)
  })

  test(`People read that ${kind} cannot be reached, before and while it answers`, async () => {
    const lost = new TypeError('Failed to fetch')
    const broken = () => new Response(new ReadableStream({ start: (stream) => stream.error(lost) }))
    for (const answer of [() => Promise.reject(lost), async () => broken()]) {
      vi.spyOn(globalThis, 'fetch').mockImplementation(answer)
      const error = await ask[kind]().catch((fault: unknown) => fault)
      expect(render(error)).toBe('The service cannot be reached. Nothing was changed; try again.')
    }
  })
}

test('The errors of fields are found in both envelopes, and other values are ignored', async () => {
  const fields = [{ path: ['to', 0], code: 'invalid', message: 'Not an address.' }, { path: 'to' }, null, 'x']
  for (const body of [{ error: 'Invalid', errors: fields }, { error: { message: 'Invalid', errors: fields } }]) {
    vi.spyOn(globalThis, 'fetch').mockImplementation(async () => json(body)())
    const error = (await ask['a route']().catch((fault: unknown) => fault)) as { fields: FieldFault[] }
    expect(error.fields).toEqual(fields.slice(0, 1))
  }
})

test.each([
  [{ a: 1 }],
  ['text'],
  [Symbol('s')],
  [new Error('', { cause: {} })],
  [Object.assign(new Error(), { message: {} })],
])('Something that is no proper error is shown as an unexpected one: %s', (thrown) => {
  expect(render(thrown)).toBe('Something unexpected happened. Nothing was changed.')
})
