/** /api/internal/billing: the plan, the spend cap and the pages of the payment provider. Open while the org is suspended. */
import type { ManageBilling } from '../../../people/billing/manage-billing.ts'
import type { ReadBilling } from '../../../people/billing/read-billing.ts'
import { Billing, CheckoutPage, PatchBilling, PortalPage, StartUpgrade } from '../../../people/billing/shapes.ts'
import { userActor } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'

const path = '/api/internal/billing'

type BillingRouteNeeds = { read: ReadBilling; manage: ManageBilling }

export const billingRoutes = ({ read, manage }: BillingRouteNeeds): DashboardRoute[] => [
  defineRoute('GET', path, bySession('requireSession'), {
    responses: { 200: Billing },
    handle: async ({ session }) => ok(await read(session.orgId)),
  }),
  defineRoute('POST', path, bySession('requireOwnerSession', { whileSuspended: 'open' }), {
    body: StartUpgrade,
    responses: { 200: CheckoutPage },
    handle: async ({ session, body }) => {
      const checkout_url = await manage.startUpgrade(session.orgId, session.userId, body.plan)
      return ok({ checkout_url })
    },
  }),
  defineRoute('PATCH', path, bySession('requireOwnerSession', { whileSuspended: 'open' }), {
    body: PatchBilling,
    responses: { 200: Billing },
    handle: async (call) => {
      const { orgId } = call.session
      // A body without the cap is refused before.
      await manage.changeCap(orgId, userActor(call), call.body.spend_cap_usd ?? null)
      return ok(await read(orgId))
    },
  }),
  defineRoute('POST', `${path}/portal`, bySession('requireOwnerSession', { whileSuspended: 'open' }), {
    responses: { 200: PortalPage },
    handle: async ({ session }) => {
      const portal_url = await manage.openPortal(session.orgId, session.userId)
      return ok({ portal_url })
    },
  }),
]
