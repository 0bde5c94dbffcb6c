/** /api/internal/campaigns */

import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { AddCampaign } from '../../senders/campaigns/create-campaign.ts'
import type { RemoveCampaign } from '../../senders/campaigns/remove-campaign.ts'
import { Campaign, CreateCampaign } from '../../senders/campaigns/shapes.ts'
import type { PollStatus } from '../../senders/registration/poll-status.ts'
import { campaignStatements } from '../../senders/store/campaign-rows.ts'
import { Deleted } from '../deleted.ts'
import { shownCampaign } from '../shown-sender.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { environmentFilter } from './filters.ts'
import { scopeOf } from './member-scope.ts'
import { idQuery, oneOrListOf, oneOrListQuery, showOneOrPage } from './one-or-list.ts'

const path = '/api/internal/campaigns'

type Needs = { db: Db; add: AddCampaign; remove: RemoveCampaign; check: PollStatus['checkCampaign'] }

export const dashboardCampaignRoutes = ({ db, add, remove, check }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: oneOrListQuery.extend({ environment: environmentFilter }),
    responses: { 200: oneOrListOf(Campaign) },
    handle: ({ session: { orgId }, query }) =>
      showOneOrPage(query, {
        find: (id) => db.row(campaignStatements.find, { orgId, id }),
        list: () =>
          db.rows(campaignStatements.list, { orgId, environment: query.environment ?? null, ...keysetOf(query) }),
        show: shownCampaign,
      }),
  }),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireDeveloperSession',
    body: CreateCampaign,
    responses: { 201: Campaign },
    handle: async (call) => ({
      status: 201,
      body: shownCampaign(await add(scopeOf(call.session), userActor(call), call.body)),
    }),
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path,
    gate: 'requireDeveloperSession',
    query: idQuery,
    // The registry takes no changes to a campaign.
    body: z.strictObject({}),
    emptyPatch: 'allowed',
    responses: { 200: Campaign },
    handle: async (call) => ({
      status: 200,
      body: shownCampaign(await check(scopeOf(call.session), userActor(call), call.query.id)),
    }),
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path,
    gate: 'requireDeveloperSession',
    query: idQuery,
    responses: { 200: Deleted },
    handle: async (call) => {
      const { id } = call.query
      await remove(scopeOf(call.session), userActor(call), id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
]
