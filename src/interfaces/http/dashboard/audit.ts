/** /api/internal/audit: the list, the verification of signatures, and the findings of the chain. */
import { z } from 'zod'
import type { FindAuditEntry, ListAudit } from '../../../journal/audit/list-entries.ts'
import { shownEntry } from '../../../journal/audit/shown-entry.ts'
import type { ChainPosition, VerifyChainPage } from '../../../journal/audit/verify-chain-page.ts'
import type { VerifyEntries } from '../../../journal/audit/verify-entries.ts'
import { givenInstant } from '../../../platform/ground/bounded-text.ts'
import type { Position } from '../../../platform/ground/cursor.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { userActor } from '../actor.ts'
import { page } from '../page.ts'
import { listed, ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { listOf, listQuery } from './list-query.ts'

/** An empty filter is no filter. */
const filter = z
  .string()
  .max(200)
  .transform((text) => text || null)
  .default(null)

const range = { created_after: z.string().max(200).optional(), created_before: z.string().max(200).optional() }

const AuditQuery = listQuery({ fallback: 50 }).extend({
  action: filter,
  actor_user_id: filter,
  resource_type: filter,
  resource_id: filter,
  ...range,
})
const VerifyQuery = listQuery({ fallback: 100, max: 500 }).extend(range)
const ChainQuery = z.object({ limit: VerifyQuery.shape.limit, cursor: z.string().max(512).optional() })

const Entry = z.strictObject({
  id: z.string(),
  orgId: z.string(),
  actorUserId: z.string().nullable(),
  action: z.string(),
  resourceType: z.string().nullable(),
  resourceId: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  ipAddress: z.string().nullable(),
  userAgent: z.string(),
  createdAt: z.string(),
})

const Found = Entry.pick({
  id: true,
  action: true,
  actorUserId: true,
  resourceType: true,
  resourceId: true,
  createdAt: true,
})

const Verified = z.strictObject({
  checked: z.number(),
  ok: z.number(),
  unsigned: z.number(),
  legacy: z.number(),
  invalid: z.array(Found),
  stripped: z.array(Found),
  cutover: z.string(),
  has_more: z.boolean(),
  next_cursor: z.string().nullable(),
})

const ids = z.array(z.string())

const ChainFindings = z.strictObject({
  checked: z.number(),
  missing: ids,
  broken: ids,
  invalid: ids,
  stripped: ids,
  misdated: ids,
  stray: ids,
  head: z.string(),
  pruned: z.string(),
  waiting: z.number(),
  has_more: z.boolean(),
  next_cursor: z.string().nullable(),
})

const timeOf = (name: string, text: string | undefined): Date | null => {
  if (text === undefined || text === '') return null
  const { success } = givenInstant.safeParse(text)
  if (!success) throw new Failure('INVALID_TIME_RANGE', { flatMessage: `${name} must be an ISO 8601 timestamp` })
  return new Date(text)
}

type RangeQuery = {
  limit: number
  cursor?: Position | undefined
  created_after?: string | undefined
  created_before?: string | undefined
}

const rangeOf = (orgId: string, { limit, cursor, created_after, created_before }: RangeQuery) => ({
  orgId,
  afterAt: cursor?.createdAt ?? null,
  afterId: cursor?.id ?? null,
  createdAfter: timeOf('created_after', created_after),
  createdBefore: timeOf('created_before', created_before),
  limit,
})

/** Times that the service never writes, such as infinity, have no place in a cursor. The nearest that has one is used. */
const withFiniteTimes = <R extends { created_at: Date }>(rows: R[]): R[] =>
  rows.map((row) => {
    const ms = Number(row.created_at)
    if (Number.isFinite(ms)) return row
    return { ...row, created_at: new Date(ms > 0 ? '9999-12-31T23:59:59.999Z' : '0001-01-01T00:00:00.000Z') }
  })

/** `tenant.*` means every action that begins with `tenant.`. */
const actionFilter = (action: string | null) =>
  action?.endsWith('.*') ? { action: null, group: action.slice(0, -1) } : { action, group: null }

const encodePosition = ({ seq, before }: ChainPosition): string =>
  Buffer.from(JSON.stringify({ s: seq, b: before.toISOString() })).toString('base64url')

const ChainCursor = z.strictObject({ s: z.number().int().min(0), b: givenInstant })

const decodePosition = (text: string | undefined): ChainPosition | undefined => {
  if (text === undefined || text === '') return undefined
  try {
    const { s, b } = ChainCursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))
    return { seq: s, before: new Date(b) }
  } catch {
    throw new Failure('INVALID_CURSOR')
  }
}

type Needs = { list: ListAudit; find: FindAuditEntry; verify: VerifyEntries; verifyChain: VerifyChainPage }

export const auditRoutes = ({ list, find, verify, verifyChain }: Needs): DashboardRoute[] => {
  const assertEnabled = (): void => {
    if (!verify.enabled) throw new Failure('AUDIT_SIGNING_DISABLED')
  }
  return [
    defineRoute('GET', '/api/internal/audit', bySession('requireDeveloperSession'), {
      query: AuditQuery,
      responses: { 200: listOf(Entry) },
      handle: async ({ session, query }) => {
        const wanted = rangeOf(session.orgId, { ...query, limit: query.limit + 1 })
        const rows = await list(wanted, {
          ...actionFilter(query.action),
          actorUserId: query.actor_user_id,
          resourceType: query.resource_type,
          resourceId: query.resource_id,
        })
        return listed(withFiniteTimes(rows), query.limit, shownEntry)
      },
    }),
    defineRoute('GET', '/api/internal/audit/entries/{id}', bySession('requireDeveloperSession'), {
      params: { id: 'auditEntry' },
      responses: { 200: Entry },
      handle: async ({ session, params }) => {
        const row = await find(session.orgId, params.id)
        if (!row) throw new Failure('NOT_FOUND')
        return ok(shownEntry(row))
      },
    }),
    defineRoute('GET', '/api/internal/audit/verify', bySession('requireOwnerSession'), {
      acts: true,
      query: VerifyQuery,
      responses: { 200: Verified },
      handle: async (call) => {
        assertEnabled()
        const { found, rows } = await verify.page(userActor(call), rangeOf(call.session.orgId, call.query))
        const { has_more, next_cursor } = page(withFiniteTimes(rows), call.query.limit, () => null)
        return ok({ ...found, has_more, next_cursor })
      },
    }),
    defineRoute('GET', '/api/internal/audit/chain', bySession('requireOwnerSession'), {
      acts: true,
      query: ChainQuery,
      responses: { 200: ChainFindings },
      handle: async ({ session, query }) => {
        assertEnabled()
        const { next, ...found } = await verifyChain(session.orgId, query.limit, decodePosition(query.cursor))
        const next_cursor = next ? encodePosition(next) : null
        return ok({ ...found, has_more: next !== undefined, next_cursor })
      },
    }),
  ]
}
