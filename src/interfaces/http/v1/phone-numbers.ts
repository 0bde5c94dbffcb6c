import { Failure } from '../../../platform/ground/errors.ts'
import type { AddPhoneNumber, RebindNumber, ReleaseNumber } from '../../../senders/sms/phone-numbers/manage-numbers.ts'
import { CreatePhoneNumber, PatchPhoneNumber } from '../../../senders/sms/phone-numbers/shapes.ts'
import type { ReadNumbers } from '../../../senders/sms/registration/read-registrations.ts'
import { byKey, type PublicRoute } from '../route.ts'
import { phoneNumbers } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

const campaignErrors = ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_IS_TEST_MODE', 'CAMPAIGN_NOT_VERIFIED'] as const
const writeErrors = ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION', 'PROVIDER_UNAVAILABLE'] as const

const routes = publicRoutes(phoneNumbers, {
  tag: 'Phone numbers',
  path: '/phone-numbers',
  name: 'PhoneNumber',
  read: byKey('read:phone_numbers'),
  write: byKey('write:phone_numbers'),
})

type Needs = { read: ReadNumbers; add: AddPhoneNumber; rebind: RebindNumber; release: ReleaseNumber }

export const phoneNumberRoutes = ({ read, add, rebind, release }: Needs): PublicRoute[] => [
  routes.create({
    summary: 'Add a number or a sender id',
    description:
      'Provisions a US long code or a US or Canadian toll-free number for a verified campaign, or registers an alphanumeric sender id. A sender id is verified at once. At most 10 registrations per hour.',
    access: byKey('write:phone_numbers', { tenantKey: 'TENANT_KEY_FORBIDDEN' }),
    idempotent: true,
    body: CreatePhoneNumber,
    errors: [
      ...campaignErrors,
      'COUNTRY_NOT_PROVISIONABLE',
      'SENDER_ALREADY_REGISTERED',
      'NUMBER_ALREADY_REGISTERED',
      'PLAN_RESOURCE_LIMIT',
      'PROVISION_LIMIT_EXCEEDED',
      'PROVIDER_UNAVAILABLE',
    ],
    action: add,
  }),
  routes.list({
    summary: 'List numbers and sender ids',
    action: read.list,
  }),
  routes.get({
    summary: 'Get a number or a sender id',
    action: read.get,
  }),
  routes.change({
    summary: 'Bind a number to another campaign',
    description: 'The number is `pending` until the registry has approved it for the new campaign.',
    body: PatchPhoneNumber.optional(),
    check: ({ body }) => {
      if (body?.campaign_id === undefined) throw new Failure('NO_FIELDS')
    },
    response: 'The number.',
    errors: [...writeErrors, ...campaignErrors, 'NO_FIELDS'],
    action: (caller, _actor, id, body) => rebind(caller, id, body?.campaign_id as string),
  }),
  routes.remove({
    summary: 'Release a number or a sender id',
    description: 'Scheduled messages from this sender fail when they are due.',
    response: 'The sender was released.',
    errors: writeErrors,
    action: release,
  }),
]
