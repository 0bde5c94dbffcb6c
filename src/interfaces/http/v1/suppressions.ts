import { z } from 'zod'
import { givenId } from '../../../platform/ground/bounded-text.ts'
import { channels } from '../../../platform/ground/channel.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { AddSuppressions } from '../../../recipients/suppressions/add.ts'
import type { ReadSuppressions } from '../../../recipients/suppressions/read-suppressions.ts'
import type { RemoveSuppression, ToRemove } from '../../../recipients/suppressions/remove.ts'
import {
  AddedSuppressions,
  CreateSuppressions,
  maxTargetLength,
  reasons,
  SuppressionTarget,
} from '../../../recipients/suppressions/shapes.ts'
import { actorOf } from '../actor.ts'
import { malformed } from '../envelope.ts'
import { filteredPage } from '../page.ts'
import { validate } from '../read-request.ts'
import { Deleted, deleted } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { suppressions } from '../shown-resources.ts'
import { publicRoutes, refusals } from './public-routes.ts'

const ListQuery = filteredPage({
  channel: z.enum(channels).optional().describe('Return only suppressions of this channel.'),
  value: z
    .string()
    .max(320)
    .optional()
    .meta({ description: 'Return only suppressions of this address or number.', examples: ['ada@example.com'] }),
  reason: z.enum(reasons).optional().describe('Return only suppressions with this reason.'),
})

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

const routes = publicRoutes(suppressions, {
  tag: 'Suppressions',
  path: '/suppressions',
  name: 'Suppression',
  read: byKey('read:suppressions'),
  write: byKey('write:suppressions'),
})

type Needs = { read: ReadSuppressions; add: AddSuppressions; remove: RemoveSuppression }

export const suppressionRoutes = ({ read, add, remove }: Needs): PublicRoute[] => [
  defineRoute('POST', '/suppressions', byKey('write:suppressions'), {
    operationId: 'addSuppressions',
    tag: 'Suppressions',
    summary: 'Add suppressions',
    description:
      'Adds one target, or up to 1,000 targets as `items`, with reason `manual`. If a target is already suppressed, the existing suppression is returned unchanged.',
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
      const shown = added.map(({ row }) => suppressions.show(row))
      return {
        status: added.some(({ created }) => created) ? 201 : 200,
        body: 'items' in body ? { data: shown } : shown[0],
      }
    },
  }),
  routes.list({
    query: ListQuery,
    action: (caller, query) => read.list(caller, query, query),
  }),
  routes.get({ action: read.get }),
  routes.remove({
    summary: 'Delete a suppression by id',
    errors: [...refusals, 'SUPPRESSION_PROTECTED'],
    action: (caller, actor, id) => remove(caller, actor, { id }),
  }),
  defineRoute('DELETE', '/suppressions', byKey('write:suppressions'), {
    operationId: 'deleteSuppressionByTarget',
    tag: 'Suppressions',
    summary: 'Delete a suppression by target',
    description:
      'Provide `id`, or `channel` and `value`, in the query or in the body. If you provide both, they must identify the same suppression.',
    query: Target,
    body: Target.optional().meta({ examples: [{ channel: 'email', value: 'ada@example.com' }] }),
    check: ({ query, body }) => void toRemove(query, body),
    responses: { 200: { schema: Deleted, description: 'The suppression was deleted.' } },
    errors: [...refusals, 'SUPPRESSION_PROTECTED', 'QUERY_BODY_CONFLICT'],
    handle: async (call) => {
      const { id } = await remove(call.caller, actorOf(call), toRemove(call.query, call.body))
      return deleted(id)
    },
  }),
]
