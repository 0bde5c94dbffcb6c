import type { DeleteAccount } from '../../team/delete-account.ts'
import { DeletedAccount, DeleteOwnAccount } from '../../team/shapes.ts'
import { activeOrgCookie, type Cookies, sessionCookie } from './cookies.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'

type Needs = { deleteAccount: DeleteAccount; cookies: Cookies }

export const accountDeletionRoutes = ({ deleteAccount, cookies }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'DELETE',
    path: '/api/internal/user',
    gate: 'requireUserSession',
    ownFactors: true,
    body: DeleteOwnAccount,
    responses: { 200: DeletedAccount },
    handle: async (call) => {
      const { password, email, delete_owned_orgs: deleteOwned } = call.body
      const { orgId: activeOrgId } = call.session
      const left = await deleteAccount(userActor(call), { password, email }, { activeOrgId, deleteOwned })
      const cleared = [cookies.clear(sessionCookie), cookies.clear(activeOrgCookie)]
      return { status: 200, body: { deleted: true, ...left }, cookies: cleared }
    },
  }),
]
