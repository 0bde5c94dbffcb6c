/** The development tool that plays the callback of the payment provider. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { PlayPayments } from '../../billing/play-payments.ts'
import { Failure } from '../../ground/errors.ts'
import { isId } from '../../ground/ids.ts'
import { withRequestId } from '../../ground/request-context.ts'
import { plans } from '../../orgs/plans.ts'
import { bodyOf } from './dev-body.ts'

const BillingBody = z.strictObject({ org_id: z.string().max(100), plan: z.enum(plans) })

/** `playPayments` is undefined with another provider than the local one, whose callbacks cannot be signed here. */
export type BillingToolNeeds = { playPayments?: PlayPayments | undefined }

export const registerBillingTool = (dev: FastifyInstance, { playPayments }: BillingToolNeeds): void => {
  if (!playPayments) return
  dev.post('/billing', (request) =>
    withRequestId(request.id, async () => {
      const { org_id, plan } = await bodyOf(BillingBody, request)
      if (!isId('org', org_id) || !(await playPayments.pay(org_id, plan))) throw new Failure('NOT_FOUND')
      return { org_id, plan }
    }),
  )
}
