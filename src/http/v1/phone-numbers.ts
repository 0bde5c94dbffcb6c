import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { Failure } from '../../ground/errors.ts'
import type { AddPhoneNumber } from '../../senders/phone-numbers/create-number.ts'
import type { RebindNumber } from '../../senders/phone-numbers/rebind-number.ts'
import type { ReleaseNumber } from '../../senders/phone-numbers/release-number.ts'
import { CreatePhoneNumber, PatchPhoneNumber, PhoneNumber } from '../../senders/phone-numbers/shapes.ts'
import { listPhoneNumbers, phoneNumberStatements } from '../../senders/store/phone-number-rows.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownPhoneNumber } from '../shown-sender.ts'

const campaignErrors = ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_IS_TEST_MODE', 'CAMPAIGN_NOT_VERIFIED'] as const
const writeErrors = ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION', 'PROVIDER_UNAVAILABLE'] as const

type Needs = { db: Db; add: AddPhoneNumber; rebind: RebindNumber; release: ReleaseNumber }

export const phoneNumberRoutes = ({ db, add, rebind, release }: Needs): Route[] => {
  const base = { tag: 'Phone numbers', params: { id: 'phoneNumber' } } as const
  return [
    defineRoute({
      method: 'POST',
      path: '/phone-numbers',
      operationId: 'createPhoneNumber',
      tag: 'Phone numbers',
      summary: 'Add a number or a sender id',
      description:
        'Provisions a US long code or a US or Canadian toll-free number for a verified campaign, or registers an alphanumeric sender id. A sender id is verified at once. At most 10 registrations per hour.',
      scope: 'write:phone_numbers',
      idempotent: true,
      forbiddenKeys: { tenantKey: 'TENANT_KEY_FORBIDDEN' },
      body: CreatePhoneNumber,
      responses: { 201: { schema: PhoneNumber, description: 'The new sender.' } },
      errors: [
        ...campaignErrors,
        'COUNTRY_NOT_PROVISIONABLE',
        'SENDER_ALREADY_REGISTERED',
        'NUMBER_ALREADY_REGISTERED',
        'PLAN_RESOURCE_LIMIT',
        'PROVISION_LIMIT_EXCEEDED',
        'PROVIDER_UNAVAILABLE',
      ],
      handle: async (call) => ({
        status: 201,
        body: shownPhoneNumber(await add(call.caller, actorOf(call), call.body, call.claim)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/phone-numbers',
      operationId: 'listPhoneNumbers',
      tag: 'Phone numbers',
      summary: 'List numbers and sender ids',
      scope: 'read:phone_numbers',
      query: pageQuery,
      responses: { 200: { schema: pageOf(PhoneNumber), description: 'A page of senders, newest first.' } },
      handle: async ({ caller, query }) => {
        const { orgId, tenantId } = caller
        const rows = await db.rows(listPhoneNumbers, { orgId, tenantId, ...keysetOf(query) })
        return { status: 200, body: page(rows, query.limit, shownPhoneNumber) }
      },
    }),
    defineRoute({
      ...base,
      method: 'GET',
      path: '/phone-numbers/{id}',
      operationId: 'getPhoneNumber',
      summary: 'Get a number or a sender id',
      scope: 'read:phone_numbers',
      responses: { 200: { schema: PhoneNumber, description: 'The sender.' } },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const { orgId, tenantId } = caller
        const row = await db.row(phoneNumberStatements.find, { orgId, id: params.id as string })
        const ofAnother = tenantId !== null && row?.tenant_id !== null && row?.tenant_id !== tenantId
        if (!row || ofAnother) throw new Failure('NOT_FOUND')
        return { status: 200, body: shownPhoneNumber(row) }
      },
    }),
    defineRoute({
      ...base,
      method: 'PATCH',
      path: '/phone-numbers/{id}',
      operationId: 'updatePhoneNumber',
      summary: 'Bind a number to another campaign',
      description: 'The number is `pending` until the registry has approved it for the new campaign.',
      scope: 'write:phone_numbers',
      body: PatchPhoneNumber.optional(),
      check: ({ body }) => {
        if (body?.campaign_id === undefined) throw new Failure('NO_FIELDS')
      },
      responses: { 200: { schema: PhoneNumber, description: 'The number.' } },
      errors: [...writeErrors, ...campaignErrors, 'NO_FIELDS'],
      handle: async ({ caller, params, body }) => {
        const row = await rebind(caller, params.id as string, body?.campaign_id as string)
        return { status: 200, body: shownPhoneNumber(row) }
      },
    }),
    defineRoute({
      ...base,
      method: 'DELETE',
      path: '/phone-numbers/{id}',
      operationId: 'deletePhoneNumber',
      summary: 'Release a number or a sender id',
      description: 'Scheduled messages from this sender fail when they are due.',
      scope: 'write:phone_numbers',
      responses: { 200: { schema: Deleted, description: 'The sender was released.' } },
      errors: writeErrors,
      handle: async (call) => {
        const id = call.params.id as string
        await release(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
  ]
}
