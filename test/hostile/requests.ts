/** Generates requests to a path of the service that are valid except for some hostile parts. */
import fc from 'fast-check'
import { newId, prefixes } from '../../src/platform/ground/ids.ts'
import type { Entry } from './surface.ts'
import { hostileBody, oddCursor, oddTexts, type Resolve, validBody, validValue } from './values.ts'
import type { Field, RawRequest } from './wire.ts'

export type Part = 'path' | 'target' | 'query' | 'headers' | 'body' | 'method'

/** Selects the hostile parts: mostly one, so that the rest of the request passes as many checks as possible. */
const hostileParts = (among: readonly Part[]): fc.Arbitrary<Part[]> => {
  const deep = among.filter((part) => part === 'query' || part === 'headers' || part === 'body')
  return fc.oneof(
    ...(deep.length > 0 ? [{ weight: 4, arbitrary: fc.subarray(deep, { minLength: 1, maxLength: 2 }) }] : []),
    { weight: 2, arbitrary: fc.constantFrom(...among).map((part) => [part]) },
    { weight: 1, arbitrary: fc.subarray([...among], { minLength: 2 }) },
  )
}

const allParts: Part[] = ['path', 'target', 'query', 'headers', 'body', 'method']

export type HostileRequest = RawRequest & { hostile: Part[] }

/** Text of the bytes that a header value may contain. */
const headerText = (maxLength = 300): fc.Arbitrary<string> =>
  fc.string({
    unit: fc
      .oneof(
        { weight: 4, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
        { weight: 1, arbitrary: fc.integer({ min: 0x80, max: 0xff }) },
        { weight: 1, arbitrary: fc.constant(0x09) },
      )
      .map((code) => String.fromCharCode(code)),
    maxLength,
  })

/** UTF-8 bytes as a string with one character per byte. */
const utf8AsLatin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
const isControl = (char: string): boolean => char < ' ' || char === '\x7f'
const inHeader = (text: string): string =>
  [...utf8AsLatin1(text)].map((char) => (isControl(char) && char !== '\t' ? '?' : char)).join('')

const oddHeaderText = fc.oneof(
  headerText(),
  fc.constantFrom(...oddTexts).map(inHeader),
  fc.constantFrom('', ' ', ',', '\t', '"', 'x'.repeat(255), 'x'.repeat(256), '\xff', '\xed\xa0\x80', 'é'),
)

const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,30}$/)

const contentTypes = fc.oneof(
  fc.constantFrom(
    'application/json',
    'APPLICATION/JSON',
    'application/json;',
    'application/json; charset=utf-16',
    'application/json; charset="utf-8"; charset=latin1',
    'application/json;charset=\xff',
    'text/json',
    'application/json, text/plain',
    'application/problem+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'multipart/form-data; boundary=x',
    'text/plain',
    '',
    '/',
    ';',
    'nonsense',
    'application/json\t',
    ' application/json',
    '*/*',
    'application/*',
    'application/jsonx',
    '__proto__',
  ),
  oddHeaderText,
)

const oddField: fc.Arbitrary<Field> = fc.oneof(
  fc.tuple(fc.constant('Idempotency-Key'), oddHeaderText),
  fc.tuple(fc.constant('X-Service-Tenant-Ref'), oddHeaderText),
  fc.tuple(fc.constant('X-Forwarded-For'), fc.oneof(oddHeaderText, fc.ipV4(), fc.ipV6(), fc.constant('::%1'))),
  fc.tuple(fc.constant('Content-Type'), contentTypes),
  fc.tuple(fc.constant('Content-Encoding'), fc.constantFrom('gzip', 'br', 'deflate', 'identity', 'x')),
  fc.tuple(fc.constant('Expect'), fc.constantFrom('100-continue', '100-Continue', '200-ok', '')),
  fc.tuple(
    fc.constant('Cookie'),
    fc.oneof(
      oddHeaderText,
      oddHeaderText.map((text) => `service_session=${text}`),
    ),
  ),
  fc.tuple(fc.constant('Cookie'), fc.stringMatching(/^service_session=[A-Za-z0-9_-]{43}; service_active_org=.{0,9}$/)),
  fc.tuple(
    fc.constant('Authorization'),
    fc.oneof(
      oddHeaderText,
      oddHeaderText.map((text) => `Bearer ${text}`),
    ),
  ),
  fc.tuple(fc.constant('Host'), fc.oneof(oddHeaderText, fc.constantFrom('', 'evil.example', 'a:b:c', '[::1]'))),
  fc.tuple(fc.constant('Connection'), fc.constantFrom('close', 'keep-alive', 'upgrade', 'te', 'authorization')),
  fc.tuple(fc.constant('Upgrade'), fc.constantFrom('websocket', 'h2c', 'TLS/1.0')),
  fc.tuple(
    fc.constantFrom('Accept', 'Accept-Encoding', 'If-None-Match', 'Range', 'Origin', 'TE', 'Trailer'),
    oddHeaderText,
  ),
  fc.tuple(fc.constantFrom('X-HTTP-Method-Override', 'X-Original-URL', 'X-Rewrite-URL'), oddHeaderText),
  fc.tuple(fc.constantFrom('X-Request-Id', 'Forwarded', 'X-Real-IP', 'X-Forwarded-Host', 'User-Agent'), oddHeaderText),
  fc.tuple(token, headerText()),
)

const percent = (text: string): string => encodeURIComponent(text.toWellFormed())
const rawTarget = (text: string): string =>
  [...utf8AsLatin1(text)].map((char) => (isControl(char) || char === ' ' ? '+' : char)).join('')

/** One value of a query or path, correctly or incorrectly encoded. */
const oddComponent = fc.oneof(
  fc.constantFrom(...oddTexts).map(percent),
  fc.constantFrom(...oddTexts).map(rawTarget),
  fc.string({ unit: 'binary' }).map(percent),
  fc.constantFrom(
    '',
    '%',
    '%0',
    '%zz',
    '%00',
    'a%00b',
    '%ff',
    '%c0%80',
    '%ed%a0%80',
    '%u0000',
    '%2525',
    '+',
    '%20',
    '%2F',
    '%2f..%2f',
    '%5c',
    '.',
    '..',
    '%2e',
    '%2e%2e',
    ';',
    ';a=b',
    '%0d%0aX: y',
    '%0a',
    '\xff\xfe',
  ),
  oddCursor,
)

const otherKind = fc.constantFrom(...(Object.keys(prefixes) as (keyof typeof prefixes)[])).map((kind) => newId(kind))

const hostileParam = fc.oneof(
  oddComponent,
  otherKind,
  otherKind.map((id) => id.toUpperCase()),
  otherKind.map((id) => `${id}0`),
  otherKind.map((id) => id.replace('_', '%5F')),
  fc.constantFrom(99, 100, 101, 5_000).map((n) => 'a'.repeat(n)),
)

const encodeSome = (path: string, seed: number): string =>
  path.replace(/[a-z0-9]/g, (letter, at: number) =>
    (seed >> (at % 31)) & 1 ? `%${letter.charCodeAt(0).toString(16)}` : letter,
  )

/** Rewrites a path into an equivalent one, or into one that a careless parser would consider equivalent. */
export const mangle: fc.Arbitrary<(path: string) => string> = fc.oneof(
  fc.constantFrom<((path: string) => string)[]>(
    (path) => `${path}/`,
    (path) => `/${path}`,
    (path) => path.replaceAll('/', '//'),
    (path) => `${path}/.`,
    (path) => `${path}/..`,
    (path) => `/x/..${path}`,
    (path) => `/.${path}`,
    (path) => `${path};x=y`,
    (path) => `${path}%20`,
    (path) => `${path}%00`,
    (path) => `${path}#x`,
    (path) => `${path}%3Fx`,
    (path) => `${path}?`,
    (path) => path.toUpperCase(),
    (path) => path.replace(/^\/api\/v1/, '/v1'),
    (path) => path.replace(/^\/api\/v1/, '/%761'),
    (path) => path.replace(/v1/, '%761'),
    (path) => path.replaceAll('/', '%2F'),
    (path) => path.replaceAll('/', '\\'),
    (path) => `http://localhost${path}`,
    (path) => `http://localhost${path.replace(/^\/api\/v1/, '/v1')}`,
    (path) => `HTTP://evil.example:1${path}`,
    (path) => `http://${path}`,
    (path) => `https://a@b:99999${path}`,
    (path) => `${path}${'/a'.repeat(3_000)}`,
    (path) => `${path}/${'%61'.repeat(3_000)}`,
    () => '*',
    () => 'http://localhost',
    () => 'http://localhost?x',
  ),
  fc.integer({ min: 1 }).map((seed) => (path: string) => encodeSome(path, seed)),
  oddComponent.map((odd) => (path: string) => `${path}/${odd}`),
  oddComponent.map((odd) => () => `/${odd}`),
)

const methods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'PURGE',
  'LINK',
  'QUERY',
  'SEARCH',
  'M-SEARCH',
  'MKCOL',
  'LOCK',
  'COPY',
  'MOVE',
  'REPORT',
  'NOTIFY',
  'UNSUBSCRIBE',
]

const pair = (name: string, value: unknown): string => `${percent(name)}=${percent(String(value))}`

const validQuery = ({ query }: Entry, resolve: Resolve): fc.Arbitrary<string> =>
  fc
    .tuple(...query.map(({ required, schema }) => fc.option(validValue(schema, resolve), { freq: required ? 100 : 1 })))
    .map((values) =>
      values
        .map((value, i) => (value === null ? undefined : pair(query[i]?.name as string, value)))
        .filter((part) => part !== undefined)
        .join('&'),
    )

const hostileQuery = ({ query }: Entry, resolve: Resolve): fc.Arbitrary<string> => {
  const name = fc.oneof(
    ...(query.length > 0 ? [fc.constantFrom(...query.map((parameter) => parameter.name))] : []),
    oddComponent,
  )
  const suffixed = fc.tuple(name, fc.constantFrom('', '', '', '[]', '[0]', '[a][b]', '[__proto__]', '.x', '%00', ' '))
  const odd = fc.tuple(suffixed, fc.oneof(oddComponent, oddCursor), fc.constantFrom('=', '=', '=', '', '==', '%3D'))
  const oddPart = odd.map(([[base, ending], value, equals]) => `${base}${rawTarget(ending)}${equals}${value}`)
  const cursor = query.some((parameter) => parameter.name === 'cursor')
  return fc.oneof(
    ...(cursor ? [oddCursor.map((text) => `cursor=${text}`)] : []),
    fc
      .tuple(validQuery({ query } as Entry, resolve), fc.array(oddPart, { minLength: 1, maxLength: 4 }))
      .map(([good, bad]) => [good, ...bad].filter(Boolean).join('&')),
    validQuery({ query } as Entry, resolve).map((good) => `${good}&${good}`),
    fc.constantFrom('&'.repeat(2_000), '='.repeat(500), 'a&'.repeat(1_500), '?', '&&=&', `x=${'y'.repeat(9_000)}`),
    fc
      .array(fc.tuple(token, token), { minLength: 100, maxLength: 300 })
      .map((all) => all.map(([key, value]) => `${key}=${value}`).join('&')),
  )
}

/** Adds the hostile headers; each replaces the regular header of the same name. */
const mergeHeaders = (own: readonly Field[], odd: readonly Field[]): Field[] => {
  const given = new Set(odd.map(([name]) => name.toLowerCase()))
  return [...own.filter(([name]) => !given.has(name.toLowerCase())), ...odd]
}

export type RequestOptions = {
  resolve: Resolve
  /** Existing ids by prefix, so that some requests pass the look-up. */
  ids: (prefix: string) => string[]
  /** Headers of a valid request; hostile headers replace them. */
  headers: fc.Arbitrary<readonly Field[]>
  /** The parts that may be hostile; all by default. */
  parts?: Part[]
}

const small = (text: string): boolean => text.length < 12_000

export const requestsTo = (entry: Entry, options: RequestOptions): fc.Arbitrary<HostileRequest> => {
  const { resolve } = options
  const validParam = (name: string): fc.Arbitrary<string> => {
    const kind = entry.params[name]
    if (!kind) return fc.constantFrom('x')
    const known = options.ids(prefixes[kind])
    const fresh = fc.constant(null).map(() => newId(kind))
    return known.length > 0 ? fc.oneof(fc.constantFrom(...known), fresh) : fresh
  }
  const names = [...entry.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const pathWith = (param: (name: string) => fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.tuple(...names.map(param)).map((values) => entry.path.replace(/\{\w+\}/g, () => values.shift() as string))

  return hostileParts(options.parts ?? allParts)
    .chain((hostile) => {
      const is = (part: Part): boolean => hostile.includes(part)
      const path = pathWith(is('path') ? () => hostileParam : validParam)
      const hasBody = entry.body !== undefined || is('body')
      return fc.record({
        hostile: fc.constant(hostile),
        base: options.headers,
        method: is('method') ? fc.constantFrom(...methods) : fc.constant(entry.method),
        path: is('target') ? fc.tuple(path, mangle).map(([given, make]) => make(given)) : path,
        query: is('query') ? hostileQuery(entry, resolve) : validQuery(entry, resolve),
        odd: is('headers') ? fc.array(oddField, { minLength: 1, maxLength: 4 }) : fc.constant<Field[]>([]),
        body: is('body')
          ? hostileBody(entry.body, resolve)
          : hasBody
            ? validBody(entry.body, resolve)
            : fc.constant(undefined),
        framing: fc.constantFrom('length' as const, 'length' as const, 'chunked' as const),
      })
    })
    .map(({ hostile, base, method, path, query, odd, body, framing }) => {
      const own: Field[] = [...base, ...(body ? [['Content-Type', 'application/json'] as const] : [])]
      return {
        hostile,
        method,
        target: query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
        headers: mergeHeaders(own, odd),
        body,
        framing,
      }
    })
    .filter(({ target }) => small(target))
}
