/** /api/internal/org and /api/internal/orgs: the active org, and all orgs of a user. */
import type { DeleteOrg } from '../../../people/team/delete-org.ts'
import type { ManageOrgs } from '../../../people/team/manage-orgs.ts'
import type { TransferOwnership } from '../../../people/team/manage-team.ts'
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
} from '../../../people/team/shapes.ts'
import type { OwnOrgRow } from '../../../people/team/store/own-org-rows.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { isId } from '../../../platform/ground/ids.ts'
import { sandboxDomain } from '../../../senders/domains/sandbox-domain.ts'
import { userActor } from '../actor.ts'
import { activeOrgCookie, type Cookies } from '../cookies.ts'
import { listed, ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { shownAs } from '../shown-resource.ts'
import { listOf, listQuery } from './list-query.ts'

const yearSeconds = 365 * 86_400

type OrgRouteNeeds = {
  manage: ManageOrgs
  transfer: TransferOwnership
  deleteOrg: DeleteOrg
  cookies: Cookies
  serviceDomain: string
}

/** The cookie that makes an org the active one. */
export const activeOrg = (cookies: Cookies, orgId: string): string => cookies.set(activeOrgCookie, orgId, yearSeconds)

const shownOrg = shownAs(OwnOrg)

const makeShow = (serviceDomain: string) => (row: OwnOrgRow) =>
  shownOrg({ ...row, sandbox_domain: sandboxDomain(row.slug, serviceDomain) })

const personalOrgRoutes = ({ manage, cookies, serviceDomain }: OrgRouteNeeds): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/orgs', bySession('requireUserSession'), {
    query: listQuery(),
    responses: { 200: listOf(ListedOrg) },
    handle: async ({ session, query }) => {
      const rows = await manage.list(session.userId, query)
      const show = ({ id, name, slug, role, is_default, created_at }: OwnOrgRow) => ({
        id,
        name,
        slug,
        role,
        active: id === session.orgId,
        default: is_default,
        created_at: created_at.toISOString(),
      })
      return listed(rows, query.limit, show)
    },
  }),
  defineRoute('POST', '/api/internal/org', bySession('requireUserSession', { ownFactors: true }), {
    body: CreateOwnOrg,
    responses: { 201: OwnOrg },
    handle: async (call) => {
      const org = await manage.create(userActor(call), call.body)
      return { status: 201, body: makeShow(serviceDomain)(org), cookies: [activeOrg(cookies, org.id)] }
    },
  }),
  defineRoute('POST', '/api/internal/org/switch', bySession('requireUserSession'), {
    body: SwitchOrg,
    responses: { 200: SwitchedOrg },
    handle: async ({ session, body }) => {
      if (!isId('org', body.org_id)) throw new Failure('NOT_FOUND')
      const { id, name, slug, role } = await manage.open(body.org_id, session)
      return { status: 200, body: { active_org: { id, name, slug, role } }, cookies: [activeOrg(cookies, id)] }
    },
  }),
]

export const orgRoutes = (needs: OrgRouteNeeds): DashboardRoute[] => {
  const { manage, transfer, deleteOrg, cookies, serviceDomain } = needs
  const show = makeShow(serviceDomain)
  return [
    ...personalOrgRoutes(needs),
    defineRoute('GET', '/api/internal/org', bySession('requireSession'), {
      responses: { 200: OwnOrg },
      handle: async ({ session }) => ok(show(await manage.get(session.orgId, session.userId))),
    }),
    defineRoute('PATCH', '/api/internal/org', bySession('requireOwnerSession'), {
      body: PatchOwnOrg,
      responses: { 200: OwnOrg },
      handle: async (call) => ok(show(await manage.change(call.session.orgId, userActor(call), call.body))),
    }),
    defineRoute('DELETE', '/api/internal/org', bySession('requireOwnerSession'), {
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
    defineRoute('POST', '/api/internal/org/transfer-ownership', bySession('requireOwnerSession'), {
      body: TransferTo,
      responses: { 200: OwnOrg },
      handle: async (call) => {
        const { orgId, userId } = call.session
        await transfer(orgId, userActor(call), call.body.user_id)
        return ok(show(await manage.get(orgId, userId)))
      },
    }),
  ]
}
