/** What every answer must look like, whatever was asked, and whether anything was changed by asking. */
import { expect } from 'vitest'
import { type Code, catalogue, statusOf, typeOf } from '../../src/ground/errors.ts'
import { isId } from '../../src/ground/ids.ts'
import type { TestDatabase } from '../service/database.ts'
import type { Answer } from './wire.ts'

const rowCodes = [
  'required',
  'invalid_type',
  'too_small',
  'too_big',
  'invalid_string',
  'invalid_enum',
  'unrecognized',
  'custom',
  'STILL_REFERENCED',
]

type Row = { path: unknown; code: string; message: string }

const judgeRows = (rows: unknown): void => {
  expect(Array.isArray(rows) && rows.length > 0 && rows.length <= 100).toBe(true)
  for (const row of rows as Row[]) {
    expect(Object.keys(row)).toEqual(['path', 'code', 'message'])
    expect(rowCodes).toContain(row.code)
    expect(typeof row.message).toBe('string')
    expect((row.path as unknown[]).every((part) => typeof part === 'string' || typeof part === 'number')).toBe(true)
  }
}

const judgeEnvelope = (answer: Answer, body: Record<string, unknown>): Code => {
  expect(Object.keys(body)).toEqual(['error'])
  const { type, message, code, request_id, errors, ...rest } = body.error as Record<string, unknown>
  expect(Object.keys(catalogue)).toContain(code)
  expect([answer.status, type]).toEqual([statusOf(code as Code), typeOf(code as Code)])
  expect(request_id).toBe(answer.headers['x-request-id'])
  expect(typeof message).toBe('string')
  if (errors !== undefined) judgeRows(errors)
  expect(errors !== undefined || code !== 'VALIDATION_ERROR').toBe(true)
  for (const extra of Object.values(rest)) expect(typeof extra).toBe('string')
  return code as Code
}

const flatWithoutCode: Record<string, Code> = {
  Unauthorized: 'UNAUTHORIZED',
  'Not found': 'NOT_FOUND',
  'Invalid cursor': 'INVALID_CURSOR',
}

const judgeFlat = (answer: Answer, body: Record<string, unknown>): Code => {
  const { error, code, errors, ...rest } = body
  expect(rest).toEqual({})
  expect(typeof error).toBe('string')
  const meant = code === undefined ? flatWithoutCode[error as string] : (code as Code)
  expect(Object.keys(catalogue)).toContain(meant)
  expect(answer.status).toBe(meant === 'INVALID_CURSOR' ? 400 : statusOf(meant as Code))
  if (errors !== undefined) judgeRows(errors)
  return meant as Code
}

/** Bytes no request could be read from, whatever they were meant for. */
export const isNotHttp = ({ body }: Answer): boolean => body.includes('"This is not a valid HTTP request."')

const flatAt = /^\/api\/(?:internal|auth)\//

/** `pages`: people come here, so that a refusal may be a page that says the same. */
export type Asked = { toHead?: boolean; target?: string; pages?: boolean }

/** Throws unless it is a success or a refusal as documented; the code of a refusal, when it has a body to read. */
export const judge = (answer: Answer, { toHead = false, target = '', pages = false }: Asked = {}): Code | undefined => {
  expect(isId('request', answer.headers['x-request-id'] ?? ''), 'a request id').toBe(true)
  if (answer.status < 400) return undefined
  expect(answer.status, 'a fault of the service').not.toBe(500)
  if (pages && answer.headers['content-type'] === 'text/html; charset=utf-8') {
    expect([404, 422]).toContain(answer.status)
    return undefined
  }
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  const statuses = new Set<number>(Object.values(catalogue).map(({ status }) => status))
  expect(statuses).toContain(answer.status)
  if (answer.status === 429) expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
  if (answer.status === 405) expect(answer.headers.allow).toMatch(/^[A-Z]+(?:, [A-Z]+)*$/)
  if (toHead) return undefined
  const body = JSON.parse(answer.body.toString('utf8')) as Record<string, unknown>
  const flat = typeof body.error === 'string'
  if (flatAt.test(target) && !isNotHttp(answer)) expect(flat, 'a flat body').toBe(true)
  if (target.startsWith('/api/v1')) expect(flat, 'a flat body').toBe(false)
  return flat ? judgeFlat(answer, body) : judgeEnvelope(answer, body)
}

/** A digest per table. The last use of a key is noted whatever comes of the request. */
export const makeDigest = async (database: TestDatabase): Promise<() => Promise<Record<string, string>>> => {
  // Partitions are seen in the tables they are part of.
  const tables = await database.sql<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
  )
  const text = tables
    .map(({ name }) => {
      const row = name === 'api_keys' ? "(to_jsonb(r) - 'last_used_at')::text" : 'r::text'
      return `select '${name}' as name, count(*) || ' ' || coalesce(md5(string_agg(md5(${row}), '' order by md5(${row}))), '') as digest from "${name}" r`
    })
    .join(' union all ')
  return async () => {
    const rows = await database.sql<{ name: string; digest: string }>(text)
    return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]))
  }
}

/** The tables whose digest differs. */
export const changed = (before: Record<string, string>, after: Record<string, string>): string[] =>
  Object.keys(after).filter((name) => before[name] !== after[name])
