import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { billing } from '../../../strings/billing.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { DetailList } from '../../../ui/detail-list.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Section } from '../../../ui/templates.tsx'
import { toastError } from '../../../ui/toasts.tsx'

export type Billing = operations['getApiInternalBilling']['responses'][200]['content']['application/json']
type PaidPlan = 'payg' | 'pro'

const offers: Record<Billing['plan'], readonly PaidPlan[]> = {
  free: ['payg', 'pro'],
  payg: ['pro'],
  pro: [],
  enterprise: [],
}

/** Leaves the dashboard for the page of the payment provider, which leads back. */
const useLeave = () => {
  const [busy, setBusy] = useState<string>()
  const leave = async (name: string, urlOf: () => Promise<string>): Promise<void> => {
    setBusy(name)
    try {
      location.assign(await urlOf())
    } catch (error) {
      toastError(error)
      setBusy(undefined)
    }
  }
  return { busy, leave }
}

const PlanButtons = ({ plan }: { plan: Billing['plan'] }) => {
  const { busy, leave } = useLeave()
  const upgrade = (chosen: PaidPlan) =>
    leave(
      chosen,
      async () => (await unwrap(api.POST('/api/internal/billing', { body: { plan: chosen } }))).checkout_url,
    )
  const portal = () => leave('portal', async () => (await unwrap(api.POST('/api/internal/billing/portal'))).portal_url)
  return (
    <div className="mt-5 flex flex-col gap-2 border-t pt-4">
      <div className="flex flex-wrap gap-2 empty:hidden">
        {offers[plan].map((offer) => (
          <Button
            key={offer}
            look="primary"
            gate="requireOwnerSession"
            busy={busy === offer}
            onClick={() => void upgrade(offer)}
          >
            {billing.choose(billing.plans[offer])}
          </Button>
        ))}
        {(plan === 'payg' || plan === 'pro') && (
          <Button gate="requireOwnerSession" busy={busy === 'portal'} onClick={() => void portal()}>
            {billing.portal}
          </Button>
        )}
      </div>
      <p className="text-muted text-xs">{plan === 'enterprise' ? billing.contract : billing.checkoutHelp}</p>
    </div>
  )
}

export const PlanSection = ({ state }: { state: Billing }) => (
  <Section title={billing.plan}>
    <DetailList
      facts={[
        { name: billing.plan, value: <span className="font-medium">{billing.plans[state.plan]}</span> },
        {
          name: billing.status,
          value: (
            <StatusDot tone={state.status === 'active' ? 'ok' : 'warn'}>{billing.statuses[state.status]}</StatusDot>
          ),
        },
        { name: billing.period, value: state.period },
        {
          name: billing.card,
          value: state.payment_method
            ? `${state.payment_method.brand} ···· ${state.payment_method.last4}`
            : billing.noCard,
        },
        ...(state.next_invoice_at
          ? [{ name: billing.nextInvoice, value: <RelativeTime due at={state.next_invoice_at} /> }]
          : []),
        ...(state.ends_at ? [{ name: billing.endsAt, value: <RelativeTime due at={state.ends_at} /> }] : []),
      ]}
    />
    <PlanButtons plan={state.plan} />
  </Section>
)
