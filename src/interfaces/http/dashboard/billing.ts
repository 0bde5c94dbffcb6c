/** /api/internal/billing: the plan, the spend cap and the pages of the payment provider. Open while the org is suspended. */
import type { ManageBilling } from '../../billing/manage-billing.ts'
import type { ReadBilling } from '../../billing/read-billing.ts'
import { Billing, CheckoutPage, PatchBilling, PortalPage, StartUpgrade } from '../../billing/shapes.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'

const path = '/api/internal/billing'

export type BillingRouteNeeds = { read: ReadBilling; manage: ManageBilling }

export const billingRoutes = ({ read, manage }: BillingRouteNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    responses: { 200: Billing },
    handle: async ({ session }) => ({ status: 200, body: await read(session.orgId) }),
  }),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireOwnerSession',
    whileSuspended: 'open',
    body: StartUpgrade,
    responses: { 200: CheckoutPage },
    handle: async ({ session, body }) => {
      const checkout_url = await manage.startUpgrade(session.orgId, session.userId, body.plan)
      return { status: 200, body: { checkout_url } }
    },
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path,
    gate: 'requireOwnerSession',
    whileSuspended: 'open',
    body: PatchBilling,
    responses: { 200: Billing },
    handle: async (call) => {
      const { orgId } = call.session
      // A body without the cap is refused before.
      await manage.changeCap(orgId, userActor(call), call.body.spend_cap_usd ?? null)
      return { status: 200, body: await read(orgId) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: `${path}/portal`,
    gate: 'requireOwnerSession',
    whileSuspended: 'open',
    responses: { 200: PortalPage },
    handle: async ({ session }) => {
      const portal_url = await manage.openPortal(session.orgId, session.userId)
      return { status: 200, body: { portal_url } }
    },
  }),
]
