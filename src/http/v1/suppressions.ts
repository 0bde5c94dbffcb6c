import { z } from 'zod'
import type { Actor } from '../../audit/append.ts'
import type { Db } from '../../db/pool.ts'
import { givenId } from '../../ground/bounded-text.ts'
import { channels } from '../../ground/channel.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { Failure } from '../../ground/errors.ts'
import { comparableAddress } from '../../ground/mailbox.ts'
import type { Scope } from '../../ground/scope.ts'
import type { AddSuppressions } from '../../suppressions/add.ts'
import type { RemoveSuppression, ToRemove } from '../../suppressions/remove.ts'
import {
  AddedSuppressions,
  CreateSuppressions,
  maxTargetLength,
  reasons,
  Suppression,
  SuppressionTarget,
} from '../../suppressions/shapes.ts'
import { findSuppression, listSuppressions, listTenantSuppressions } from '../../suppressions/store.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { malformed } from '../envelope.ts'
import { filteredPage, page, pageOf } from '../page.ts'
import { validate } from '../read-request.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownSuppression } from '../shown-suppression.ts'

const ListQuery = filteredPage({
  channel: z.enum(channels).optional().describe('Return only suppressions of this channel.'),
  value: z
    .string()
    .max(320)
    .optional()
    .meta({ description: 'Return only suppressions of this address or number.', examples: ['ada@example.com'] }),
  reason: z.enum(reasons).optional().describe('Return only suppressions with this reason.'),
})

/** The value of a filter, normalized like stored values. */
const normalized = (value: string): string => comparableAddress(value) ?? value.toLowerCase()

const Target = z.object({
  id: givenId.optional().describe('The id of the suppression.'),
  channel: z.enum(channels).optional().describe('The channel of the target. Provide it together with `value`.'),
  value: z
    .string()
    .max(maxTargetLength)
    .optional()
    .describe('The address, or the number in E.164 format. In a query, write `+` as `%2B`.'),
})
type Target = z.output<typeof Target>

const readTarget = ({ id, channel, value }: Target): ToRemove => {
  if (id !== undefined && (channel !== undefined || value !== undefined)) {
    throw malformed('Provide either id or channel and value, not both.', ['id'])
  }
  if (id !== undefined) return { id }
  return channel === undefined && value === undefined ? {} : { target: validate(SuppressionTarget, { channel, value }) }
}

const differ = (one: unknown, two: unknown): boolean =>
  one !== undefined && two !== undefined && JSON.stringify(one) !== JSON.stringify(two)

/** The suppression that a delete names in its query, its body or both. The removal checks that id and target match. */
const toRemove = (query: Target, body: Target | undefined): ToRemove => {
  const [one, two] = [readTarget(query), readTarget(body ?? {})]
  if (differ(one.id, two.id) || differ(one.target, two.target)) throw new Failure('QUERY_BODY_CONFLICT')
  const named = { ...one, ...two }
  if (named.id === undefined && named.target === undefined) {
    throw malformed('Provide an id, or channel and value, in the query or the body.')
  }
  return named
}

type Needs = { db: Db; add: AddSuppressions; remove: RemoveSuppression }

export const suppressionRoutes = ({ db, add, remove }: Needs): Route[] => {
  const list = ({ orgId, tenantId }: Scope, query: z.output<typeof ListQuery>) => {
    const { channel = null, reason = null } = query
    const value = query.value === undefined ? null : normalized(query.value)
    const params = { orgId, channel, value, reason, ...keysetOf(query) }
    return tenantId === null
      ? db.rows(listSuppressions, params)
      : db.rows(listTenantSuppressions, { ...params, tenantId })
  }

  const removeNamed = async (scope: Scope, actor: Actor, named: ToRemove) => ({
    status: 200,
    body: { ...(await remove(scope, actor, named)), deleted: true as const },
  })

  return [
    defineRoute({
      method: 'POST',
      path: '/suppressions',
      operationId: 'addSuppressions',
      tag: 'Suppressions',
      summary: 'Add suppressions',
      description:
        'Adds one target, or up to 1,000 targets as `items`, with reason `manual`. If a target is already suppressed, the existing suppression is returned unchanged.',
      scope: 'write:suppressions',
      idempotent: true,
      body: CreateSuppressions,
      responses: {
        201: { schema: AddedSuppressions, description: 'At least one suppression was added.' },
        200: { schema: AddedSuppressions, description: 'All targets were already suppressed.' },
      },
      handle: async (call) => {
        const { body } = call
        const targets = 'items' in body ? body.items : [body]
        const added = await add(call.caller, actorOf(call), targets)
        const shown = added.map(({ row }) => shownSuppression(row))
        return {
          status: added.some(({ created }) => created) ? 201 : 200,
          body: 'items' in body ? { data: shown } : shown[0],
        }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/suppressions',
      operationId: 'listSuppressions',
      tag: 'Suppressions',
      summary: 'List suppressions',
      scope: 'read:suppressions',
      query: ListQuery,
      responses: { 200: { schema: pageOf(Suppression), description: 'A page of suppressions, newest first.' } },
      handle: async ({ caller, query }) => ({
        status: 200,
        body: page(await list(caller, query), query.limit, shownSuppression),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/suppressions/{id}',
      operationId: 'getSuppression',
      tag: 'Suppressions',
      summary: 'Get a suppression',
      scope: 'read:suppressions',
      params: { id: 'suppression' },
      responses: { 200: { schema: Suppression, description: 'The suppression.' } },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const row = await db.row(findSuppression, {
          orgId: caller.orgId,
          tenantId: caller.tenantId,
          id: params.id as string,
        })
        if (!row) throw new Failure('NOT_FOUND')
        return { status: 200, body: shownSuppression(row) }
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/suppressions/{id}',
      operationId: 'deleteSuppression',
      tag: 'Suppressions',
      summary: 'Delete a suppression by id',
      scope: 'write:suppressions',
      params: { id: 'suppression' },
      responses: { 200: { schema: Deleted, description: 'The suppression was deleted.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION', 'SUPPRESSION_PROTECTED'],
      handle: (call) => removeNamed(call.caller, actorOf(call), { id: call.params.id as string }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/suppressions',
      operationId: 'deleteSuppressionByTarget',
      tag: 'Suppressions',
      summary: 'Delete a suppression by target',
      description:
        'Provide `id`, or `channel` and `value`, in the query or in the body. If you provide both, they must identify the same suppression.',
      scope: 'write:suppressions',
      query: Target,
      body: Target.optional().meta({ examples: [{ channel: 'email', value: 'ada@example.com' }] }),
      check: ({ query, body }) => void toRemove(query, body),
      responses: { 200: { schema: Deleted, description: 'The suppression was deleted.' } },
      errors: [
        'NOT_FOUND',
        'TENANT_FORBIDDEN',
        'ENVIRONMENT_ESCALATION',
        'SUPPRESSION_PROTECTED',
        'QUERY_BODY_CONFLICT',
      ],
      handle: (call) => removeNamed(call.caller, actorOf(call), toRemove(call.query, call.body)),
    }),
  ]
}
