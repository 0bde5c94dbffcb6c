/** Billing: plans and their payment, the spend cap, and the countries of text messages. */
import { makeChangePlan } from '../../customers/orgs/change-plan.ts'
import { makeChangeSmsGeo } from '../../customers/orgs/sms-geo.ts'
import { makeReadUsage } from '../../customers/usage/read.ts'
import { makeCancelOfOrg, makeEndSubscriptions, makeSweepBilling } from '../../people/billing/end-subscriptions.ts'
import { makeMailSpendAlerts } from '../../people/billing/mail-spend-alerts.ts'
import { makeManageBilling } from '../../people/billing/manage-billing.ts'
import { makePlayPayments } from '../../people/billing/play-payments.ts'
import { makeReadBilling } from '../../people/billing/read-billing.ts'
import { makeSettlePlan, makeTakeCallback } from '../../people/billing/take-callback.ts'
import { makeOwnSmsGeo } from '../../people/team/own-sms-geo.ts'
import { type LocalPayments, makeLocalPayments } from '../../providers/payments/local-payments.ts'
import type { PaymentProvider } from '../../providers/payments/payment-provider.ts'
import type { Foundation } from './foundation.ts'
import type { People } from './people.ts'
import type { Platform } from './platform.ts'

type Payments = { provider: PaymentProvider | undefined; local?: LocalPayments }

/** The library of Stripe is loaded only where it is used. */
const openPayments = async ({ config, clock, vault, baseUrl }: Foundation): Promise<Payments> => {
  const { provider: settings } = config.payments
  if (settings?.name === 'stripe') {
    const returnUrl = () => `${baseUrl.read()}/settings/billing`
    const { makeStripePayments } = await import('../../providers/payments/stripe-payments.ts')
    return { provider: makeStripePayments({ ...settings, clock, returnUrl }) }
  }
  if (!settings) return { provider: undefined }
  const local = makeLocalPayments({ clock, vault, masterKey: config.masterKey, baseUrl: baseUrl.read })
  return { provider: local, local }
}

/** Undefined parts belong to a provider that is not configured. */
const makeCallbacks = (
  { db, clock, log }: Foundation,
  payments: Payments,
  settlePlan: ReturnType<typeof makeSettlePlan>,
) => {
  const { provider, local } = payments
  const takeCallback = provider && makeTakeCallback({ db, clock, log, provider, settlePlan })
  return {
    takeCallback,
    local: local &&
      takeCallback && { provider: local, play: makePlayPayments({ db, clock, provider: local, takeCallback }) },
  }
}

export const makeBilling = async (foundation: Foundation, { usage }: Platform, { mail }: People) => {
  const { config, db, clock, log, audit, forget, baseUrl } = foundation
  const payments = await openPayments(foundation)
  const { provider } = payments
  const settlePlan = makeSettlePlan({ changePlan: makeChangePlan({ clock, audit, forget }) })
  const endSubscriptions = makeEndSubscriptions({ db, clock, settlePlan })
  const sweep = makeSweepBilling({ db, clock })
  const mailAlerts = makeMailSpendAlerts({ db, clock, log, mail, baseUrl: baseUrl.read })
  const read = makeReadBilling({ db, clock, readUsage: makeReadUsage({ db, usage }), provider: provider?.name ?? '' })
  const { contact } = config.payments
  const manage = makeManageBilling({ db, clock, log, audit, provider, contact, forget })
  const smsGeo = makeOwnSmsGeo({ db, changeSmsGeo: makeChangeSmsGeo({ clock, audit, forget }) })
  return {
    ...makeCallbacks(foundation, payments, settlePlan),
    cancelOfOrg: makeCancelOfOrg({ db, clock, provider }),
    run: async () => ({
      subscriptions_ended: await endSubscriptions(),
      spend_alerts_mailed: await mailAlerts(),
      payment_events_deleted: await sweep(),
    }),
    read,
    manage,
    smsGeo,
  }
}

export type BillingModule = Awaited<ReturnType<typeof makeBilling>>
