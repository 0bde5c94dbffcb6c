/** The development tool that plays the callback of the payment provider. */
import { z } from 'zod'
import { plans } from '../../../customers/orgs/plans.ts'
import type { PlayPayments } from '../../../people/billing/play-payments.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { isId } from '../../../platform/ground/ids.ts'
import type { Route } from '../route.ts'
import { devPost } from './dev-route.ts'

const BillingBody = z.strictObject({ org_id: z.string().max(100), plan: z.enum(plans) })

/** `playPayments` is undefined with another provider than the local one, whose callbacks cannot be signed here. */
export type BillingToolNeeds = { playPayments?: PlayPayments | undefined }

export const billingTool = ({ playPayments }: BillingToolNeeds): Route[] =>
  playPayments === undefined
    ? []
    : [
        devPost('/billing', BillingBody, async ({ org_id, plan }) => {
          if (!isId('org', org_id) || !(await playPayments.pay(org_id, plan))) throw new Failure('NOT_FOUND')
          return { org_id, plan }
        }),
      ]
