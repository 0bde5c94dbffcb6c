import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { Failure } from '../../ground/errors.ts'
import type { AddCampaign } from '../../senders/campaigns/create-campaign.ts'
import type { RemoveCampaign } from '../../senders/campaigns/remove-campaign.ts'
import { Campaign, CreateCampaign } from '../../senders/campaigns/shapes.ts'
import { campaignStatements } from '../../senders/store/campaign-rows.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownCampaign } from '../shown-sender.ts'

type Needs = { db: Db; add: AddCampaign; remove: RemoveCampaign }

export const campaignRoutes = ({ db, add, remove }: Needs): Route[] => {
  const base = { tag: 'Campaigns', params: { id: 'campaign' } } as const
  return [
    defineRoute({
      method: 'POST',
      path: '/campaigns',
      operationId: 'createCampaign',
      tag: 'Campaigns',
      summary: 'Register a campaign',
      description:
        'Submits a campaign of a brand to the registry. A `10dlc` campaign needs a verified brand. A campaign cannot be changed: if `provider_missing_fields` is not empty, delete it and register it again. At most 10 registrations per hour.',
      scope: 'write:campaigns',
      idempotent: true,
      forbiddenKeys: { tenantKey: 'TENANT_KEY_FORBIDDEN' },
      body: CreateCampaign,
      responses: { 201: { schema: Campaign, description: 'The new campaign.' } },
      errors: [
        'BRAND_NOT_FOUND',
        'BRAND_IS_TEST_MODE',
        'BRAND_NOT_VERIFIED',
        'PROVISION_LIMIT_EXCEEDED',
        'PROVIDER_UNAVAILABLE',
      ],
      handle: async (call) => ({
        status: 201,
        body: shownCampaign(await add(call.caller, actorOf(call), call.body, call.claim)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/campaigns',
      operationId: 'listCampaigns',
      tag: 'Campaigns',
      summary: 'List campaigns',
      scope: 'read:campaigns',
      query: pageQuery,
      responses: { 200: { schema: pageOf(Campaign), description: 'A page of campaigns, newest first.' } },
      handle: async ({ caller, query }) => {
        const given = { orgId: caller.orgId, environment: null, ...keysetOf(query) }
        const rows = await db.rows(campaignStatements.list, given)
        return { status: 200, body: page(rows, query.limit, shownCampaign) }
      },
    }),
    defineRoute({
      ...base,
      method: 'GET',
      path: '/campaigns/{id}',
      operationId: 'getCampaign',
      summary: 'Get a campaign',
      scope: 'read:campaigns',
      responses: { 200: { schema: Campaign, description: 'The campaign.' } },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const row = await db.row(campaignStatements.find, { orgId: caller.orgId, id: params.id as string })
        if (!row) throw new Failure('NOT_FOUND')
        return { status: 200, body: shownCampaign(row) }
      },
    }),
    defineRoute({
      ...base,
      method: 'DELETE',
      path: '/campaigns/{id}',
      operationId: 'deleteCampaign',
      summary: 'Delete a campaign',
      description:
        'Removes the campaign from the registry. Its numbers become `unverified` until you bind them to another campaign.',
      scope: 'write:campaigns',
      responses: { 200: { schema: Deleted, description: 'The campaign was deleted.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION', 'PROVIDER_UNAVAILABLE'],
      handle: async (call) => {
        const id = call.params.id as string
        await remove(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
  ]
}
