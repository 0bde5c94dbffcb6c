import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { Failure } from '../../ground/errors.ts'
import type { CorrectBrand } from '../../senders/brands/correct-brand.ts'
import type { AddBrand } from '../../senders/brands/create-brand.ts'
import type { RemoveBrand } from '../../senders/brands/remove-brand.ts'
import { Brand, CorrectedBrand, CreateBrand, PatchBrand } from '../../senders/brands/shapes.ts'
import { brandStatements } from '../../senders/store/brand-rows.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownBrand } from '../shown-sender.ts'

type Needs = { db: Db; add: AddBrand; correct: CorrectBrand; remove: RemoveBrand }

export const brandRoutes = ({ db, add, correct, remove }: Needs): Route[] => {
  const base = { tag: 'Brands', params: { id: 'brand' } } as const
  return [
    defineRoute({
      method: 'POST',
      path: '/brands',
      operationId: 'createBrand',
      tag: 'Brands',
      summary: 'Register a brand',
      description:
        'Submits your company to the registry, which reviews it. The request succeeds even if fields that the registry requires are missing; `provider_missing_fields` lists them, and the registry will reject the brand until you add them. At most 10 registrations per hour.',
      scope: 'write:brands',
      idempotent: true,
      forbiddenKeys: { tenantKey: 'TENANT_KEY_FORBIDDEN' },
      body: CreateBrand,
      responses: { 201: { schema: Brand, description: 'The new brand.' } },
      errors: ['PROVISION_LIMIT_EXCEEDED', 'PROVIDER_UNAVAILABLE'],
      handle: async (call) => ({
        status: 201,
        body: shownBrand(await add(call.caller, actorOf(call), call.body, call.claim)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/brands',
      operationId: 'listBrands',
      tag: 'Brands',
      summary: 'List brands',
      scope: 'read:brands',
      query: pageQuery,
      responses: { 200: { schema: pageOf(Brand), description: 'A page of brands, newest first.' } },
      handle: async ({ caller, query }) => {
        const given = { orgId: caller.orgId, environment: null, ...keysetOf(query) }
        const rows = await db.rows(brandStatements.list, given)
        return { status: 200, body: page(rows, query.limit, shownBrand) }
      },
    }),
    defineRoute({
      ...base,
      method: 'GET',
      path: '/brands/{id}',
      operationId: 'getBrand',
      summary: 'Get a brand',
      scope: 'read:brands',
      responses: { 200: { schema: Brand, description: 'The brand.' } },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const row = await db.row(brandStatements.find, { orgId: caller.orgId, id: params.id as string })
        if (!row) throw new Failure('NOT_FOUND')
        return { status: 200, body: shownBrand(row) }
      },
    }),
    defineRoute({
      ...base,
      method: 'PATCH',
      path: '/brands/{id}',
      operationId: 'updateBrand',
      summary: 'Correct a brand',
      description:
        'Stores the values, and submits the brand again if the registry takes changes; see `resubmit`. Omitted fields do not change. Counts as a registration.',
      scope: 'write:brands',
      body: PatchBrand.optional(),
      check: ({ body }) => {
        if (Object.values(body ?? {}).every((value) => value === undefined)) throw new Failure('NO_FIELDS')
      },
      responses: { 200: { schema: CorrectedBrand, description: 'The corrected brand.' } },
      errors: [
        'NOT_FOUND',
        'NO_FIELDS',
        'BRAND_IS_LIVE_MODE',
        'TENANT_FORBIDDEN',
        'PROVISION_LIMIT_EXCEEDED',
        'PROVIDER_UNAVAILABLE',
      ],
      handle: async (call) => {
        const { row, resubmit } = await correct(call.caller, actorOf(call), call.params.id as string, call.body ?? {})
        return { status: 200, body: { ...shownBrand(row), resubmit } }
      },
    }),
    defineRoute({
      ...base,
      method: 'DELETE',
      path: '/brands/{id}',
      operationId: 'deleteBrand',
      summary: 'Delete a brand',
      description: 'Removes the brand from the registry. Delete its campaigns first.',
      scope: 'write:brands',
      responses: { 200: { schema: Deleted, description: 'The brand was deleted.' } },
      errors: [
        'NOT_FOUND',
        'BRAND_HAS_CAMPAIGNS',
        'TENANT_FORBIDDEN',
        'ENVIRONMENT_ESCALATION',
        'PROVIDER_UNAVAILABLE',
      ],
      handle: async (call) => {
        const id = call.params.id as string
        await remove(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
  ]
}
