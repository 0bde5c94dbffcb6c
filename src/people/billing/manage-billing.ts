/** What the owners of an org do: upgrade, open the payment provider's portal, set the spend cap. */
import { isHigherPlan, type Plan } from '../../customers/orgs/plans.ts'
import { setSpendCap } from '../../customers/orgs/store.ts'
import type { AuditedNeeds, UserActor } from '../../journal/audit/append.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Log } from '../../platform/ground/log.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { PaymentFault, type PaymentProvider } from '../../providers/payments/payment-provider.ts'
import { asOwner } from '../team/change-team.ts'
import { findPayer, keepCustomer } from './store/customer-rows.ts'
import { findPaying } from './store/subscription-rows.ts'

const microsPerCent = 10_000
const toMicros = (usd: number): number => Math.round(usd * 100) * microsPerCent
const toUsd = (micros: number | null): number | null => (micros === null ? null : micros / microsPerCent / 100)

type Needs = AuditedNeeds & {
  log: Log
  /** Undefined when this installation takes no payments. */
  provider: PaymentProvider | undefined
  contact: string
  forget: (orgId: string) => void
}

const makeCallProvider =
  ({ provider, log }: Pick<Needs, 'provider' | 'log'>) =>
  async <T>(call: (provider: PaymentProvider) => Promise<T>): Promise<T> => {
    if (!provider) {
      const flatMessage = 'This installation takes no payments. Ask its operator to change the plan.'
      throw new Failure('UNAVAILABLE', { flatMessage })
    }
    try {
      return await call(provider)
    } catch (error) {
      if (!(error instanceof PaymentFault)) throw error
      log.error({ err: error, provider: provider.name }, 'payment provider call failed')
      const flatMessage = 'The payment provider is unavailable. Nothing was changed. Try again in a few minutes.'
      throw new Failure('PROVIDER_UNAVAILABLE', { flatMessage, retryAfter: 60, cause: error, logged: true })
    }
  }

export const makeManageBilling = (needs: Needs) => {
  const { db, clock, audit, contact, forget } = needs
  const callProvider = makeCallProvider(needs)

  const payerOf = async (orgId: string, userId: string) => {
    const row = await orNotFound(db.row(findPayer, { orgId, userId, provider: needs.provider?.name ?? '' }))
    const { plan: present, email, customer_id: customerId } = row
    return { present, payer: { orgId, email, customerId } }
  }

  return {
    /** Returns the page on which the person pays. The plan changes when the provider reports the payment. */
    startUpgrade: async (orgId: string, userId: string, plan: Plan) => {
      if (plan === 'enterprise') {
        const message = `The enterprise plan is agreed by contract. Write to ${contact}.`
        const errors = [{ path: ['plan'], code: 'custom', message }]
        throw new Failure('VALIDATION_ERROR', { flatMessage: message, errors })
      }
      const { present, payer } = await payerOf(orgId, userId)
      if (plan === 'free' || !isHigherPlan(plan, present)) throw new Failure('PLAN_NOT_HIGHER')
      return callProvider(async (provider) => {
        const [paying] = await db.rows(findPaying, { orgId, provider: provider.name })
        return provider.startCheckout({ ...payer, plan, subscriptionId: paying?.id ?? null })
      })
    },

    /** Returns the provider's page for cards, invoices and cancellation. */
    openPortal: async (orgId: string, userId: string) => {
      const { payer } = await payerOf(orgId, userId)
      return callProvider(async (provider) => {
        const { url, customerId } = await provider.openPortal(payer)
        if (payer.customerId === null) {
          await db.change(keepCustomer, { orgId, provider: provider.name, customerId, at: clock.now() })
        }
        return url
      })
    },

    /** In US dollars. Null removes the cap. */
    changeCap: async (orgId: string, actor: UserActor, cap: number | null) => {
      const capMicros = cap === null ? null : toMicros(cap)
      await asOwner(db, orgId, actor, async (tx) => {
        const changed = await tx.row(setSpendCap, { orgId, capMicros, at: clock.now() })
        if (!changed) return
        const metadata = { old: toUsd(changed.former), new: toUsd(capMicros) }
        const entry = { orgId, actor, resourceType: 'org', resourceId: orgId } as const
        await audit(tx, { ...entry, action: 'org.spend_cap_updated', metadata })
        tx.afterCommit(() => forget(orgId))
      })
    },
  }
}

export type ManageBilling = ReturnType<typeof makeManageBilling>
