import { z } from 'zod'
import type { Actor } from '../../audit/append.ts'
import type { Db } from '../../db/pool.ts'
import { channels } from '../../ground/channel.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { Failure } from '../../ground/errors.ts'
import { comparableIn } from '../../ground/mailbox.ts'
import type { Scope } from '../../ground/scope.ts'
import type { AddSuppressions } from '../../suppressions/add.ts'
import type { RemoveSuppression, ToRemove } from '../../suppressions/remove.ts'
import {
  CreateSuppressions,
  reasons,
  Suppression,
  SuppressionList,
  SuppressionTarget,
} from '../../suppressions/shapes.ts'
import {
  findSuppression,
  listSuppressions,
  listTenantSuppressions,
  type SuppressionRow,
} from '../../suppressions/store.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { malformed } from '../envelope.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { validate } from '../read-request.ts'
import { defineRoute, type Route } from '../route.ts'

const show = (row: SuppressionRow): z.output<typeof Suppression> => ({
  id: row.id,
  channel: row.channel,
  value: row.value,
  reason: row.reason,
  scope: row.reason === 'unsubscribe' ? 'broadcast' : 'all',
  tenant_id: row.tenant_id,
  source: row.source,
  message_id: row.message_id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

const ListQuery = pageQuery.extend({
  channel: z.enum(channels).optional(),
  value: z.string().max(320).optional(),
  reason: z.enum(reasons).optional(),
})

/** A value to look for, in the form it is kept in. */
const keptForm = (value: string): string => comparableIn(value) ?? value.toLowerCase()

const Named = z.object({
  id: z.string().optional(),
  channel: z.enum(channels).optional(),
  value: z.string().optional(),
})
type Named = z.output<typeof Named>

const readNamed = ({ id, channel, value }: Named): ToRemove => {
  if (id !== undefined && (channel !== undefined || value !== undefined)) {
    throw malformed('Name the id, or channel and value, not both.', ['id'])
  }
  if (id !== undefined) return { id }
  return channel === undefined && value === undefined ? {} : { target: validate(SuppressionTarget, { channel, value }) }
}

const differ = (one: unknown, two: unknown): boolean =>
  one !== undefined && two !== undefined && JSON.stringify(one) !== JSON.stringify(two)

/** What a delete names in its query, its body or both. Whether an id and a target are one row shows later. */
const toRemove = (query: Named, body: Named | undefined): ToRemove => {
  const [one, two] = [readNamed(query), readNamed(body ?? {})]
  if (differ(one.id, two.id) || differ(one.target, two.target)) throw new Failure('QUERY_BODY_CONFLICT')
  const named = { ...one, ...two }
  if (named.id === undefined && named.target === undefined) {
    throw malformed('Name an id, or channel and value, in the query or the body.')
  }
  return named
}

type Needs = { db: Db; add: AddSuppressions; remove: RemoveSuppression }

export const suppressionRoutes = ({ db, add, remove }: Needs): Route[] => {
  const list = ({ orgId, tenantId }: Scope, query: z.output<typeof ListQuery>) => {
    const { channel = null, reason = null } = query
    const value = query.value === undefined ? null : keptForm(query.value)
    const params = { orgId, channel, value, reason, ...keysetOf(query) }
    return tenantId === null
      ? db.rows(listSuppressions, params)
      : db.rows(listTenantSuppressions, { ...params, tenantId })
  }

  const removed = async (scope: Scope, actor: Actor, named: ToRemove) => ({
    status: 200,
    body: { ...(await remove(scope, actor, named)), deleted: true as const },
  })

  return [
    defineRoute({
      method: 'POST',
      path: '/suppressions',
      tag: 'Suppressions',
      summary: 'Add suppressions',
      about:
        'Adds one target, or up to 1,000 as `items`, with reason `manual`. A target that is suppressed already is returned unchanged.',
      scope: 'write:suppressions',
      idempotent: true,
      body: CreateSuppressions,
      answers: {
        201: { schema: z.union([Suppression, SuppressionList]), about: 'Added, at least one of them.' },
        200: { schema: z.union([Suppression, SuppressionList]), about: 'All were there already.' },
      },
      handle: async (call) => {
        const { body } = call
        const targets = 'items' in body ? body.items : [body]
        const added = await add(call.caller, actorOf(call), targets)
        const shown = added.map(({ row }) => show(row))
        return {
          status: added.some(({ created }) => created) ? 201 : 200,
          body: 'items' in body ? { data: shown } : shown[0],
        }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/suppressions',
      tag: 'Suppressions',
      summary: 'List suppressions',
      scope: 'read:suppressions',
      query: ListQuery,
      answers: { 200: { schema: pageOf(Suppression), about: 'A page, newest first.' } },
      handle: async ({ caller, query }) => ({
        status: 200,
        body: page(await list(caller, query), query.limit, show),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/suppressions/{id}',
      tag: 'Suppressions',
      summary: 'Get a suppression',
      scope: 'read:suppressions',
      params: { id: 'suppression' },
      answers: { 200: { schema: Suppression, about: 'The suppression.' } },
      refuses: ['NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const row = await db.row(findSuppression, {
          orgId: caller.orgId,
          tenantId: caller.tenantId,
          id: params.id as string,
        })
        if (!row) throw new Failure('NOT_FOUND')
        return { status: 200, body: show(row) }
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/suppressions/{id}',
      tag: 'Suppressions',
      summary: 'Remove a suppression by id',
      scope: 'write:suppressions',
      params: { id: 'suppression' },
      answers: { 200: { schema: Deleted, about: 'Removed.' } },
      refuses: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION', 'SUPPRESSION_PROTECTED'],
      handle: (call) => removed(call.caller, actorOf(call), { id: call.params.id as string }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/suppressions',
      tag: 'Suppressions',
      summary: 'Remove a suppression by target',
      about:
        'Names `id`, or `channel` and `value`, in the query or in the body; in both only where they name the same row.',
      scope: 'write:suppressions',
      query: Named,
      body: Named.optional(),
      check: ({ query, body }) => void toRemove(query, body),
      answers: { 200: { schema: Deleted, about: 'Removed.' } },
      refuses: [
        'NOT_FOUND',
        'TENANT_FORBIDDEN',
        'ENVIRONMENT_ESCALATION',
        'SUPPRESSION_PROTECTED',
        'QUERY_BODY_CONFLICT',
      ],
      handle: (call) => removed(call.caller, actorOf(call), toRemove(call.query, call.body)),
    }),
  ]
}
