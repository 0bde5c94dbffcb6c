/** /api/internal/org and /api/internal/orgs: the active org, and all orgs of a user. */
import type { z } from 'zod'
import { assertOpenTo } from '../../accounts/sso-enforcement.ts'
import type { Db } from '../../db/pool.ts'
import { sandboxDomain } from '../../domains/sandbox-domain.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { Failure } from '../../ground/errors.ts'
import { isId } from '../../ground/ids.ts'
import type { DeleteOrg } from '../../team/delete-org.ts'
import type { ManageOrgs } from '../../team/manage-orgs.ts'
import {
  CreateOwnOrg,
  DeletedOrg,
  DeleteOwnOrg,
  ListedOrg,
  OwnOrg,
  PatchOwnOrg,
  SwitchedOrg,
  SwitchOrg,
  TransferTo,
} from '../../team/shapes.ts'
import { listOwnOrgs, type OwnOrgRow } from '../../team/store/own-org-rows.ts'
import type { TransferOwnership } from '../../team/transfer-ownership.ts'
import { page } from '../page.ts'
import { activeOrgCookie, type Cookies } from './cookies.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { listOf, listQuery } from './list-query.ts'

const yearSeconds = 365 * 86_400

export type OrgRouteNeeds = {
  db: Db
  manage: ManageOrgs
  transfer: TransferOwnership
  deleteOrg: DeleteOrg
  cookies: Cookies
  serviceDomain: string
}

/** The cookie that makes an org the active one. */
export const activeOrg = (cookies: Cookies, orgId: string): string => cookies.set(activeOrgCookie, orgId, yearSeconds)

const makeShow =
  (serviceDomain: string) =>
  (row: OwnOrgRow): z.output<typeof OwnOrg> => ({
    id: row.id,
    name: row.name,
    slug: row.slug,
    plan: row.plan,
    owner_user_id: row.owner_user_id,
    role: row.role,
    sandbox_domain: sandboxDomain(row.slug, serviceDomain),
    sms_quiet_hours: row.sms_quiet_hours,
    suspended: row.suspended,
    created_at: row.created_at.toISOString(),
  })

const personalOrgRoutes = ({ db, manage, cookies, serviceDomain }: OrgRouteNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/orgs',
    gate: 'requireUserSession',
    query: listQuery(),
    responses: { 200: listOf(ListedOrg) },
    handle: async ({ session, query }) => {
      const rows = await db.rows(listOwnOrgs, { userId: session.userId, ...keysetOf(query) })
      const show = ({ id, name, slug, role, is_default, created_at }: OwnOrgRow) => ({
        id,
        name,
        slug,
        role,
        active: id === session.orgId,
        default: is_default,
        created_at: created_at.toISOString(),
      })
      return { status: 200, body: page(rows, query.limit, show) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/org',
    gate: 'requireUserSession',
    ownFactors: true,
    body: CreateOwnOrg,
    responses: { 201: OwnOrg },
    handle: async (call) => {
      const org = await manage.create(userActor(call), call.body)
      return { status: 201, body: makeShow(serviceDomain)(org), cookies: [activeOrg(cookies, org.id)] }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/org/switch',
    gate: 'requireUserSession',
    body: SwitchOrg,
    responses: { 200: SwitchedOrg },
    handle: async ({ session, body }) => {
      if (!isId('org', body.org_id)) throw new Failure('NOT_FOUND')
      const { id, name, slug, role } = await manage.get(body.org_id, session.userId)
      await assertOpenTo(db, session, id)
      return { status: 200, body: { active_org: { id, name, slug, role } }, cookies: [activeOrg(cookies, id)] }
    },
  }),
]

export const orgRoutes = (needs: OrgRouteNeeds): DashboardRoute[] => {
  const { manage, transfer, deleteOrg, cookies, serviceDomain } = needs
  const show = makeShow(serviceDomain)
  return [
    ...personalOrgRoutes(needs),
    defineDashboardRoute({
      method: 'GET',
      path: '/api/internal/org',
      gate: 'requireSession',
      responses: { 200: OwnOrg },
      handle: async ({ session }) => ({ status: 200, body: show(await manage.get(session.orgId, session.userId)) }),
    }),
    defineDashboardRoute({
      method: 'PATCH',
      path: '/api/internal/org',
      gate: 'requireOwnerSession',
      body: PatchOwnOrg,
      responses: { 200: OwnOrg },
      handle: async (call) => {
        const org = await manage.change(call.session.orgId, userActor(call), call.body)
        return { status: 200, body: show(org) }
      },
    }),
    defineDashboardRoute({
      method: 'DELETE',
      path: '/api/internal/org',
      gate: 'requireOwnerSession',
      body: DeleteOwnOrg,
      responses: { 200: DeletedOrg },
      handle: async (call) => {
        const { orgId } = call.session
        const { nextOrgId } = await deleteOrg(orgId, userActor(call), call.body.confirm)
        const redirect_to = nextOrgId === null ? '/orgs/new' : '/'
        const body = { deleted: true, id: orgId, next_org_id: nextOrgId, redirect_to }
        return { status: 200, body, cookies: [cookies.clear(activeOrgCookie)] }
      },
    }),
    defineDashboardRoute({
      method: 'POST',
      path: '/api/internal/org/transfer-ownership',
      gate: 'requireOwnerSession',
      body: TransferTo,
      responses: { 200: OwnOrg },
      handle: async (call) => {
        const { orgId, userId } = call.session
        await transfer(orgId, userActor(call), call.body.user_id)
        return { status: 200, body: show(await manage.get(orgId, userId)) }
      },
    }),
  ]
}
