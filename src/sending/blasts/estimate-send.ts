/**
 * What a send to an audience would do and cost. It runs the checks of the send and renders every message, and stores
 * nothing.
 */
import { usd } from '../../customers/usage/read.ts'
import { iso } from '../../platform/ground/instant.ts'
import { makeOrgTurns } from '../../platform/ground/org-turns.ts'
import { type AudienceCaller, type CheckedRequest, type CheckNeeds, makeCheckSend } from './check-send.ts'
import { makeComposeRows, slicesOfSlots } from './compose-rows.ts'
import type { SendEstimate } from './shapes.ts'

export type EstimateSend = (caller: AudienceCaller, request: CheckedRequest) => Promise<SendEstimate>

/** Rendering 10,000 messages takes seconds. */
const estimatesAtOnce = 1

export const makeEstimateSend = (needs: CheckNeeds): EstimateSend => {
  const check = makeCheckSend(needs)
  const takeTurn = makeOrgTurns({ what: 'estimates', running: estimatesAtOnce, waitingPerOrg: 5 })

  const estimate = async (caller: AudienceCaller, request: CheckedRequest): Promise<SendEstimate> => {
    const { body, audienceId, total, suppressed, plan, composition } = await check(caller, request)
    const totals = { segments: 0, costMicros: 0 }
    const composed = makeComposeRows(needs, {
      ...composition,
      onMessage: async (draft) => {
        const { segments = 0, costMicros = 0 } = await composition.channel.priceOf(draft)
        totals.segments += segments
        totals.costMicros += costMicros
      },
    })
    for (const slots of slicesOfSlots(plan.slots)) for await (const _ of composed.lines(slots));
    if (plan.slots.length > 0) composed.finish()
    const { rows, deferred, bytes } = composed.counts()
    return {
      audience_id: audienceId,
      channel: body.channel,
      total,
      recipients: rows,
      suppressed,
      segments: body.channel === 'sms' ? totals.segments : null,
      bytes,
      cost: { currency: 'USD', amount: usd(totals.costMicros, 6) },
      deferred_quiet_hours: deferred,
      starts_at: iso(plan.startsAt),
      ends_at: iso(plan.endsAt),
    }
  }

  return (caller, request) => takeTurn(caller.orgId, () => estimate(caller, request))
}
