/** /api/internal/campaigns */
import { z } from 'zod'
import type { AddCampaign, RemoveCampaign } from '../../../senders/sms/campaigns/manage-campaigns.ts'
import { CreateCampaign } from '../../../senders/sms/campaigns/shapes.ts'
import type { PollStatus } from '../../../senders/sms/registration/poll-status.ts'
import type { ReadRegistrations } from '../../../senders/sms/registration/read-registrations.ts'
import type { CampaignRow } from '../../../senders/sms/store/campaign-rows.ts'
import type { DashboardRoute } from '../route.ts'
import { campaigns } from '../shown-resources.ts'
import { environmentFilter, oneOrListQuery } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

const path = '/api/internal/campaigns'

const routes = memberRoutes(campaigns, { path, write: 'requireDeveloperSession' })

type Needs = {
  read: ReadRegistrations<CampaignRow>
  add: AddCampaign
  remove: RemoveCampaign
  check: PollStatus['checkCampaign']
}

export const dashboardCampaignRoutes = ({ read, add, remove, check }: Needs): DashboardRoute[] => [
  routes.oneOrList({
    query: oneOrListQuery.extend({ environment: environmentFilter }),
    get: ({ orgId }, id) => read.get(orgId, id),
    list: ({ orgId }, query) => read.list({ orgId, environment: query.environment ?? null }, query),
  }),
  routes.create({ body: CreateCampaign, action: add }),
  routes.change({
    // The registry takes no changes to a campaign.
    body: z.strictObject({}),
    emptyPatch: 'allowed',
    action: check,
  }),
  routes.remove({ action: remove }),
]
