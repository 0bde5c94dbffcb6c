/** /api/internal/scim: the tokens of the directory, and which role each of its groups gives. */
import type { z } from 'zod'
import type { GroupMapping, Mapping } from '../../../people/scim/group-mapping.ts'
import type { ManageScimTokens } from '../../../people/scim/manage-tokens.ts'
import {
  CreatedScimToken,
  CreateScimToken,
  PutScimMapping,
  ScimMapping,
  ScimToken,
} from '../../../people/scim/shapes.ts'
import type { ScimTokenRow } from '../../../people/scim/store/scim-token-rows.ts'
import { userActor } from '../actor.ts'
import { Deleted, ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { shownAs } from '../shown-resource.ts'
import { idQuery } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

type Needs = { tokens: ManageScimTokens; mapping: GroupMapping; baseUrl: () => string }

const tokensPath = '/api/internal/scim/tokens'
const mappingPath = '/api/internal/scim/mapping'

const shownToken = shownAs(ScimToken)
const tokenResource = { kind: 'scimToken', item: ScimToken, show: shownToken } as const
const newTokenResource = {
  kind: 'scimToken',
  item: CreatedScimToken,
  show: ({ row, token }: { row: ScimTokenRow; token: string }) => ({ ...shownToken(row), token }),
} as const

const tokenRoutes = ({ tokens }: Needs): DashboardRoute[] => [
  memberRoutes(tokenResource, { path: tokensPath }).list({
    action: ({ orgId }, query) => tokens.list(orgId, query),
  }),
  memberRoutes(newTokenResource, { path: tokensPath }).create({
    body: CreateScimToken,
    action: ({ orgId }, actor, { name, expires_in_days: expiresInDays = null }) =>
      tokens.create(orgId, actor, { name, expiresInDays }),
  }),
  defineRoute('DELETE', tokensPath, bySession('requireOwnerSession'), {
    query: idQuery,
    responses: { 200: Deleted },
    handle: async (call) => {
      const { id } = call.query
      await tokens.revoke(call.session.orgId, userActor(call), id)
      return ok({ deleted: true, id })
    },
  }),
]

export const directoryRoutes = (needs: Needs): DashboardRoute[] => {
  const { mapping, baseUrl } = needs
  const shown = ({ defaultRole, groups }: Mapping): z.output<typeof ScimMapping> => ({
    default_role: defaultRole,
    groups: groups.map(({ displayName, role }) => ({ display_name: displayName, role })),
    scim_base_url: `${baseUrl()}/scim/v2`,
  })
  return [
    ...tokenRoutes(needs),
    defineRoute('GET', mappingPath, bySession('requireSession'), {
      responses: { 200: ScimMapping },
      handle: async ({ session }) => ok(shown(await mapping.read(session.orgId))),
    }),
    defineRoute('PUT', mappingPath, bySession('requireOwnerSession'), {
      body: PutScimMapping,
      responses: { 200: ScimMapping },
      handle: async (call) => {
        const { default_role: defaultRole, groups } = call.body
        const given = {
          ...(defaultRole !== undefined && { defaultRole }),
          ...(groups && { groups: groups.map(({ display_name, role }) => ({ displayName: display_name, role })) }),
        }
        return ok(shown(await mapping.put(call.session.orgId, userActor(call), given)))
      },
    }),
  ]
}
