import type { DeleteAccount } from '../../../people/team/delete-account.ts'
import { DeletedAccount, DeleteOwnAccount } from '../../../people/team/shapes.ts'
import { userActor } from '../actor.ts'
import { activeOrgCookie, type Cookies, sessionCookie } from '../cookies.ts'
import { type DashboardRoute, defineRoute } from '../route.ts'
import { bySession } from '../route-access.ts'

type Needs = { deleteAccount: DeleteAccount; cookies: Cookies }

export const accountDeletionRoutes = ({ deleteAccount, cookies }: Needs): DashboardRoute[] => [
  defineRoute('DELETE', '/api/internal/user', bySession('requireUserSession', { ownFactors: true }), {
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
