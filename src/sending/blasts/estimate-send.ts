/**
 * What a send to an audience would do and cost. It runs the checks of the send and renders every message, and stores
 * nothing.
 */

import { usd } from '../../customers/usage/read.ts'
import { iso } from '../../platform/ground/instant.ts'
import { makeOrgTurns } from '../../platform/ground/org-turns.ts'
import type { Draft } from '../messages/draft.ts'
import { type AudienceCaller, type CheckedRequest, type CheckNeeds, makeCheckSend } from './check-send.ts'
import { makeComposeRows, slicesOfSlots } from './compose-rows.ts'
import { planSlots } from './plan-slots.ts'
import type { SendEstimate } from './shapes.ts'

export type EstimateSend = (caller: AudienceCaller, request: CheckedRequest) => Promise<SendEstimate>

/** Rendering 10,000 messages takes seconds. */
const estimatesAtOnce = 1

const makeTotals = (priceOf: (draft: Draft) => ReturnType<CheckNeeds['channels']['email']['priceOf']>) => {
  const totals = { segments: 0, costMicros: 0 }
  return {
    totals,
    add: async (draft: Draft): Promise<void> => {
      const { segments = 0, costMicros = 0 } = await priceOf(draft)
      totals.segments += segments
      totals.costMicros += costMicros
    },
  }
}

export const makeEstimateSend = (needs: CheckNeeds): EstimateSend => {
  const check = makeCheckSend(needs)
  const takeTurn = makeOrgTurns({ what: 'estimates', running: estimatesAtOnce, waitingPerOrg: 5 })

  const estimate = async (caller: AudienceCaller, request: CheckedRequest): Promise<SendEstimate> => {
    const { recipients, template, quietHours, start, ...checked } = await check(caller, request)
    const { send, body, audienceId, total, suppressed } = checked
    const channel = needs.channels[body.channel]
    const plan = await planSlots(recipients, body, { start, quietHours })
    const { totals, add } = makeTotals(channel.priceOf)
    const composed = makeComposeRows(needs, {
      channel,
      send,
      template,
      variables: body.variables,
      checksMissing: !caller.tenantBound,
      onMessage: add,
    })
    for (const slots of slicesOfSlots(plan.slots)) for await (const _ of composed.lines(slots));
    if (recipients.length > 0) composed.finish()
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
