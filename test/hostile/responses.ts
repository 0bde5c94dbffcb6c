/** Checks that a response has the documented form, and finds the tables that a request changed. */
import { expect } from 'vitest'
import { type Code, catalogue, statusOf, typeOf } from '../../src/platform/ground/errors.ts'
import { isId } from '../../src/platform/ground/ids.ts'
import type { TestDatabase } from '../service/database.ts'
import type { Answer } from './wire.ts'

const rowCodes = new Set([
  'required',
  'invalid_type',
  'too_small',
  'too_big',
  'invalid_string',
  'invalid_enum',
  'unrecognized',
  'custom',
  'STILL_REFERENCED',
  'invalid_email',
  'common_password',
  'same_as_email',
])

type Row = { path: unknown; code: string; message: string }

/** Fails unless both values are the same. Calls `expect` only then, because it takes longer than a request. */
export const expectSame = (actual: unknown, wanted: unknown, about?: string): void => {
  if (!Object.is(actual, wanted)) expect(actual, about).toBe(wanted)
}

const expectOneOf = (among: ReadonlySet<unknown>, value: unknown): void => {
  if (!among.has(value)) expect([...among]).toContain(value)
}

const allCodes = new Set<unknown>(Object.keys(catalogue))
const allStatuses = new Set<unknown>(Object.values(catalogue).map(({ status }) => status))

const checkRows = (rows: unknown): void => {
  expectSame(Array.isArray(rows) && rows.length > 0 && rows.length <= 100, true, 'one to 100 rows')
  for (const row of rows as Row[]) {
    expectSame(Object.keys(row).join(), 'path,code,message')
    expectOneOf(rowCodes, row.code)
    expectSame(typeof row.message, 'string')
    const isPath = (row.path as unknown[]).every((part) => typeof part === 'string' || typeof part === 'number')
    expectSame(isPath, true, 'a path')
  }
}

const checkEnvelope = (answer: Answer, body: Record<string, unknown>): Code => {
  expectSame(Object.keys(body).join(), 'error')
  const { type, message, code, request_id, errors, ...rest } = body.error as Record<string, unknown>
  expectOneOf(allCodes, code)
  expectSame(answer.status, statusOf(code as Code))
  expectSame(type, typeOf(code as Code))
  expectSame(request_id, answer.headers['x-request-id'])
  expectSame(typeof message, 'string')
  if (errors !== undefined) checkRows(errors)
  expectSame(errors !== undefined || code !== 'VALIDATION_ERROR', true, 'a validation error has rows')
  for (const extra of Object.values(rest)) expectSame(typeof extra, 'string')
  return code as Code
}

const flatWithoutCode: Record<string, Code> = {
  Unauthorized: 'UNAUTHORIZED',
  'Not found': 'NOT_FOUND',
  'Invalid cursor': 'INVALID_CURSOR',
  'Invalid email or password': 'UNAUTHORIZED',
  'Invalid or expired code': 'UNAUTHORIZED',
}

const checkFlat = (answer: Answer, body: Record<string, unknown>): Code => {
  const { error, code, errors, ...rest } = body
  expectSame(Object.keys(rest).join(), '')
  expectSame(typeof error, 'string')
  const actual = code === undefined ? flatWithoutCode[error as string] : (code as Code)
  expectOneOf(allCodes, actual)
  expectSame(answer.status, actual === 'INVALID_CURSOR' ? 400 : statusOf(actual as Code))
  if (errors !== undefined) checkRows(errors)
  return actual as Code
}

/** Errors in the form of OAuth and of JSON-RPC, which have no code of the catalogue. */
const isOfStandard = ({ status }: Answer, body: Record<string, unknown>): boolean => {
  if ('error_description' in body) {
    expect(body).toEqual({ error: expect.stringMatching(/^[a-z_]+$/), error_description: expect.any(String) })
    expect([400, 401, 429]).toContain(status)
    return true
  }
  if (!('jsonrpc' in body)) return false
  const error = { code: expect.any(Number), message: expect.any(String) }
  expect([status, body]).toEqual([400, { jsonrpc: '2.0', error, id: null }])
  return true
}

/** Whether the service could not parse the request as HTTP. */
export const isNotHttp = ({ body }: Answer): boolean => body.includes('"This is not a valid HTTP request."')

const flatAt = /^\/api\/(?:internal|auth)\//

/** `pages`: the path is for people, so an error may be an HTML page. */
export type CheckOptions = { toHead?: boolean; target?: string; pages?: boolean }

/** Throws unless the response is a success or a documented error. Returns the error code if the response has a body. */
export const checkResponse = (
  answer: Answer,
  { toHead = false, target = '', pages = false }: CheckOptions = {},
): Code | undefined => {
  expectSame(isId('request', answer.headers['x-request-id'] ?? ''), true, 'a request id')
  if (answer.status < 400) return undefined
  if (answer.status === 500) expect(answer.status, 'an internal error').not.toBe(500)
  if (pages && answer.headers['content-type'] === 'text/html; charset=utf-8') {
    expect([400, 404, 422]).toContain(answer.status)
    return undefined
  }
  expectSame(answer.headers['content-type'], 'application/json; charset=utf-8')
  expectOneOf(allStatuses, answer.status)
  if (answer.status === 429) expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
  if (answer.status === 405) expect(answer.headers.allow).toMatch(/^[A-Z]+(?:, [A-Z]+)*$/)
  if (toHead) return undefined
  const body = JSON.parse(answer.body.toString('utf8')) as Record<string, unknown>
  if (isOfStandard(answer, body)) return undefined
  const flat = typeof body.error === 'string'
  if (flatAt.test(target) && !isNotHttp(answer)) expectSame(flat, true, 'a flat body')
  if (target.startsWith('/api/v1')) expectSame(flat, false, 'a flat body')
  return flat ? checkFlat(answer, body) : checkEnvelope(answer, body)
}

/** Tables that change in the background: leases of usage, and the heartbeats of processes. */
const unwatched = "'usage_leases', 'service_processes'"

/** Columns that change in the background. */
const leftOut: Record<string, string> = { api_keys: 'last_used_at', usage_counters: 'leased' }

const conditions: Record<string, string> = {
  // Every request to /readyz may write this row, to find out whether the database accepts writes.
  settings: "where r.name <> 'readiness_probe'",
  usage_counters: 'where r.used > 0',
}

/**
 * Counts the statements that may change a row, also those that are rolled back. Each table gets its trigger in its own
 * transaction, because a transaction that locks all tables could block the service, or be blocked by it.
 */
const countChanges = (database: TestDatabase): Promise<unknown> =>
  database.sql(`
    do $$
      declare watched regclass;
      begin
        create sequence if not exists watched_changes;
        create or replace function count_watched_change() returns trigger language plpgsql as
          'begin perform nextval(''public.watched_changes''); return null; end';
        commit;
        for watched in
          select oid from pg_class
          where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname not in (${unwatched})
        loop
          execute format('create or replace trigger count_watched_change
            after insert or update or delete or truncate on %s
            for each statement execute function count_watched_change()', watched);
          commit;
        end loop;
      end $$`)

/** A digest per table, without what changes in the background. It is computed only if a statement changed something. */
export const makeDigest = async (database: TestDatabase): Promise<() => Promise<Record<string, string>>> => {
  // Partitions are included in their parent tables.
  const tables = await database.sql<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
       and relname not in (${unwatched}) order by 1`,
  )
  const text = tables
    .map(({ name }) => {
      const left = leftOut[name]
      const row = left ? `(to_jsonb(r) - '${left}')::text` : 'r::text'
      const where = conditions[name] ?? ''
      return `select '${name}' as name, count(*) || ' ' || coalesce(sum(hashtextextended(${row}, 0)), 0) as digest
        from "${name}" r ${where}`
    })
    .join(' union all ')
  await countChanges(database)
  let last: { changes: string; digest: Record<string, string> } | undefined
  return async () => {
    for (const written of database.backgroundWrites) await written()
    // Read before the tables, so that a change during the digest leads to another one.
    const [{ changes } = { changes: '' }] = await database.prepared<{ changes: string }>(
      'changes',
      'select last_value || is_called::text as changes from watched_changes',
    )
    if (last?.changes === changes) return last.digest
    const rows = await database.prepared<{ name: string; digest: string }>('digest', text)
    const digest = Object.fromEntries(rows.map((row) => [row.name, row.digest]))
    last = { changes, digest }
    return digest
  }
}

/** The tables whose digest differs. */
export const changedTables = (before: Record<string, string>, after: Record<string, string>): string[] =>
  Object.keys(after).filter((name) => before[name] !== after[name])
