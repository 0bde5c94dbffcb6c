import type { AddCampaign, RemoveCampaign } from '../../../senders/sms/campaigns/manage-campaigns.ts'
import { CreateCampaign } from '../../../senders/sms/campaigns/shapes.ts'
import type { ReadRegistrations } from '../../../senders/sms/registration/read-registrations.ts'
import type { CampaignRow } from '../../../senders/sms/store/campaign-rows.ts'
import { byKey, type PublicRoute } from '../route.ts'
import { campaigns } from '../shown-resources.ts'
import { publicRoutes, refusals } from './public-routes.ts'

const routes = publicRoutes(campaigns, {
  tag: 'Campaigns',
  path: '/campaigns',
  name: 'Campaign',
  read: byKey('read:campaigns'),
  write: byKey('write:campaigns'),
})

type Needs = { read: ReadRegistrations<CampaignRow>; add: AddCampaign; remove: RemoveCampaign }

export const campaignRoutes = ({ read, add, remove }: Needs): PublicRoute[] => [
  routes.create({
    summary: 'Register a campaign',
    description:
      'Submits a campaign of a brand to the registry. A `10dlc` campaign needs a verified brand. A campaign cannot be changed: if `provider_missing_fields` is not empty, delete it and register it again. At most 10 registrations per hour.',
    access: byKey('write:campaigns', { tenantKey: 'TENANT_KEY_FORBIDDEN' }),
    idempotent: true,
    body: CreateCampaign,
    errors: [
      'BRAND_NOT_FOUND',
      'BRAND_IS_TEST_MODE',
      'BRAND_NOT_VERIFIED',
      'PROVISION_LIMIT_EXCEEDED',
      'PROVIDER_UNAVAILABLE',
    ],
    action: add,
  }),
  routes.list({ action: ({ orgId }, query) => read.list({ orgId, environment: null }, query) }),
  routes.get({ action: ({ orgId }, id) => read.get(orgId, id) }),
  routes.remove({
    description:
      'Removes the campaign from the registry. Its numbers become `unverified` until you bind them to another campaign.',
    errors: [...refusals, 'PROVIDER_UNAVAILABLE'],
    action: remove,
  }),
]
