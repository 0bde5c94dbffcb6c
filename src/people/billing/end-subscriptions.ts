/** What billing does in the background: subscriptions that run out, old events, and orgs that are deleted. */
import { lockOrg } from '../../customers/orgs/store.ts'
import type { StoreNeeds } from '../../platform/db/pool.ts'
import type { PaymentProvider } from '../../providers/payments/payment-provider.ts'
import { sweepAll } from '../signin/retention.ts'
import { closeSubscription, endSubscription, findDueToEnd, findPaying, sweepEvents } from './store/subscription-rows.ts'
import type { SettlePlan } from './take-callback.ts'

const page = 100
/** Far longer than a provider repeats an event. */
const eventsKeptMs = 90 * 86_400_000

type Needs = StoreNeeds & { settlePlan: SettlePlan }

/** Takes the plan away from orgs whose canceled or unpaid period is over. Returns how many subscriptions ended. */
export const makeEndSubscriptions = ({ db, clock, settlePlan }: Needs) => {
  const endOne = (orgId: string, provider: string, id: string): Promise<boolean> =>
    db.tx(async (tx) => {
      const org = await tx.row(lockOrg, { orgId })
      const ended = org && (await tx.row(endSubscription, { orgId, provider, id, now: clock.now() }))
      if (!ended) return false
      const before = ended.status === 'pending' ? null : ended.plan
      await settlePlan(tx, { orgId, provider, present: org.plan, before, after: null })
      return true
    })

  return async (): Promise<number> => {
    let ended = 0
    for (;;) {
      const due = await db.rows(findDueToEnd, { now: clock.now(), limit: page })
      for (const { org_id, provider, id } of due) if (await endOne(org_id, provider, id)) ended++
      if (due.length < page) return ended
    }
  }
}

export const makeSweepBilling =
  ({ db, clock }: Pick<Needs, 'db' | 'clock'>) =>
  (): Promise<number> =>
    sweepAll(db, sweepEvents, new Date(clock.millis() - eventsKeptMs))

/** Cancels the subscriptions of a deleted org, so that nobody pays for it any more. May run again. */
export const makeCancelOfOrg =
  ({ db, clock, provider }: Pick<Needs, 'db' | 'clock'> & { provider: PaymentProvider | undefined }) =>
  async (orgId: string): Promise<void> => {
    if (!provider) return
    for (const { id } of await db.rows(findPaying, { orgId, provider: provider.name })) {
      await provider.cancel(id)
      await db.change(closeSubscription, { orgId, provider: provider.name, id, at: clock.now() })
    }
  }
