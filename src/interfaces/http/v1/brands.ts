import { Failure } from '../../../platform/ground/errors.ts'
import type { AddBrand, CorrectBrand, RemoveBrand } from '../../../senders/sms/brands/manage-brands.ts'
import { CorrectedBrand, CreateBrand, PatchBrand } from '../../../senders/sms/brands/shapes.ts'
import type { ReadRegistrations } from '../../../senders/sms/registration/read-registrations.ts'
import type { BrandRow } from '../../../senders/sms/store/brand-rows.ts'
import { actorOf } from '../actor.ts'
import { ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { brands } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

const routes = publicRoutes(brands, {
  tag: 'Brands',
  path: '/brands',
  name: 'Brand',
  read: byKey('read:brands'),
  write: byKey('write:brands'),
})

type Needs = { read: ReadRegistrations<BrandRow>; add: AddBrand; correct: CorrectBrand; remove: RemoveBrand }

export const brandRoutes = ({ read, add, correct, remove }: Needs): PublicRoute[] => [
  routes.create({
    summary: 'Register a brand',
    description:
      'Submits your company to the registry, which reviews it. The request succeeds even if fields that the registry requires are missing; `provider_missing_fields` lists them, and the registry will reject the brand until you add them. At most 10 registrations per hour.',
    access: byKey('write:brands', { tenantKey: 'TENANT_KEY_FORBIDDEN' }),
    idempotent: true,
    body: CreateBrand,
    errors: ['PROVISION_LIMIT_EXCEEDED', 'PROVIDER_UNAVAILABLE'],
    action: add,
  }),
  routes.list({ action: ({ orgId }, query) => read.list({ orgId, environment: null }, query) }),
  routes.get({ action: ({ orgId }, id) => read.get(orgId, id) }),
  defineRoute('PATCH', '/brands/{id}', byKey('write:brands'), {
    operationId: 'updateBrand',
    tag: 'Brands',
    summary: 'Correct a brand',
    description:
      'Stores the values, and submits the brand again if the registry takes changes; see `resubmit`. Omitted fields do not change. Counts as a registration.',
    params: { id: 'brand' },
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
      const { row, resubmit } = await correct(call.caller, actorOf(call), call.params.id, call.body ?? {})
      return ok({ ...brands.show(row), resubmit })
    },
  }),
  routes.remove({
    description: 'Removes the brand from the registry. Delete its campaigns first.',
    errors: ['NOT_FOUND', 'BRAND_HAS_CAMPAIGNS', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION', 'PROVIDER_UNAVAILABLE'],
    action: remove,
  }),
]
