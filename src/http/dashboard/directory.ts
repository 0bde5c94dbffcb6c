/** /api/internal/scim: the tokens of the directory, and which role each of its groups gives. */
import type { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { GroupMapping, Mapping } from '../../scim/group-mapping.ts'
import type { ManageScimTokens } from '../../scim/manage-tokens.ts'
import { CreatedScimToken, CreateScimToken, PutScimMapping, ScimMapping, ScimToken } from '../../scim/shapes.ts'
import { listScimTokens, type ScimTokenRow } from '../../scim/store/scim-token-rows.ts'
import { Deleted } from '../deleted.ts'
import { page } from '../page.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { listOf, listQuery } from './list-query.ts'
import { idQuery } from './one-or-list.ts'

type Needs = { db: Db; tokens: ManageScimTokens; mapping: GroupMapping; baseUrl: () => string }

const tokensPath = '/api/internal/scim/tokens'
const mappingPath = '/api/internal/scim/mapping'

const shownToken = (row: ScimTokenRow): z.output<typeof ScimToken> => ({
  id: row.id,
  name: row.name,
  created_by: row.created_by,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at?.toISOString() ?? null,
  last_used_at: row.last_used_at?.toISOString() ?? null,
})

const tokenRoutes = ({ db, tokens }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: tokensPath,
    gate: 'requireSession',
    query: listQuery(),
    responses: { 200: listOf(ScimToken) },
    handle: async ({ session, query }) => {
      const rows = await db.rows(listScimTokens, { orgId: session.orgId, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, shownToken) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: tokensPath,
    gate: 'requireOwnerSession',
    body: CreateScimToken,
    responses: { 201: CreatedScimToken },
    handle: async (call) => {
      const { name, expires_in_days: expiresInDays = null } = call.body
      const { row, token } = await tokens.create(call.session.orgId, userActor(call), { name, expiresInDays })
      return { status: 201, body: { ...shownToken(row), token } }
    },
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path: tokensPath,
    gate: 'requireOwnerSession',
    query: idQuery,
    responses: { 200: Deleted },
    handle: async (call) => {
      const { id } = call.query
      await tokens.revoke(call.session.orgId, userActor(call), id)
      return { status: 200, body: { deleted: true, id } }
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
    defineDashboardRoute({
      method: 'GET',
      path: mappingPath,
      gate: 'requireSession',
      responses: { 200: ScimMapping },
      handle: async ({ session }) => ({ status: 200, body: shown(await mapping.read(session.orgId)) }),
    }),
    defineDashboardRoute({
      method: 'PUT',
      path: mappingPath,
      gate: 'requireOwnerSession',
      body: PutScimMapping,
      responses: { 200: ScimMapping },
      handle: async (call) => {
        const { default_role: defaultRole, groups } = call.body
        const given = {
          ...(defaultRole !== undefined && { defaultRole }),
          ...(groups && { groups: groups.map(({ display_name, role }) => ({ displayName: display_name, role })) }),
        }
        return { status: 200, body: shown(await mapping.put(call.session.orgId, userActor(call), given)) }
      },
    }),
  ]
}
