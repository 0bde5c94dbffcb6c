import { mmsPrice, segmentPrice } from '../../../customers/usage/plan-limits.ts'
import type { Usage } from '../../../customers/usage/reserve.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { andThen } from '../../../platform/ground/maybe-promise.ts'
import { countryOf } from '../../../platform/ground/phone-number.ts'
import type { Handover } from '../../../providers/handover.ts'
import type { SmsProvider } from '../../../providers/sms/sms-provider.ts'
import { simulateSms } from '../../../providers/sms/sms-simulator.ts'
import type { FindSuppressed } from '../../../recipients/suppressions/find-suppressed.ts'
import type { ChannelAdapter } from '../channel-adapter.ts'
import { bySendKind } from '../draft.ts'
import { beforeHandover } from '../rows.ts'
import { poolMemberGate, type SmsGateNeeds, smsGates } from './gates/sms-gates.ts'
import { billedSegments, contentOfSms, localDueAt, type SmsDraft, smsDraftOf, smsOf } from './sms-draft.ts'
import type { SmsHandovers } from './sms-handovers.ts'

type Needs = SmsGateNeeds & {
  clock: Clock
  usage: Usage
  provider: SmsProvider
  findSuppressed: FindSuppressed
  handovers: SmsHandovers
}

export const makeSmsChannel = (needs: Needs): ChannelAdapter<SmsDraft> => {
  const { clock, usage, provider, findSuppressed, handovers } = needs
  const recipientsOf = ({ by, to }: SmsDraft) => ({ tenantId: by.tenantId, values: [to], broadcast: false })

  /**
   * The recipient may have opted out since the draft was admitted: while it waited for its reservation, or between two
   * attempts. Nothing is handed over after an opt-out was stored.
   */
  const handOverUnlessSuppressed = async (draft: SmsDraft): Promise<Handover> => {
    const query = { orgId: draft.by.orgId, channel: 'sms' as const, ...recipientsOf(draft) }
    const suppressed = await findSuppressed(query).catch((error: unknown) => {
      throw beforeHandover(error)
    })
    if (suppressed.size > 0) throw new Failure('SUPPRESSED')
    return provider.send(smsOf(draft, clock.now()))
  }

  return {
    name: 'sms',
    gates: bySendKind(smsGates(needs)),
    recipientsOf,
    removeSuppressed: () => {
      throw new Failure('SUPPRESSED')
    },
    checksAtHandOver: ({ by }) => by.environment === 'live',
    lateGates: bySendKind([poolMemberGate(needs.smsSenders)]),
    finish: () => undefined,
    priceOf: (draft) =>
      andThen(usage.allowanceOf(draft.by.orgId, draft.by.tenantId), ({ plan }) => {
        const country = countryOf(draft.to) ?? ''
        const segments = billedSegments(draft)
        const media = draft.mediaUrl.length > 0
        return {
          units: 1,
          segments,
          costMicros: media ? mmsPrice(plan, country) : segments * segmentPrice(plan, country),
        }
      }),
    contentOf: contentOfSms,
    canBeSentLater: () => true,
    acceptedFields: (draft) => ({ segments: billedSegments(draft) }),
    dueAt: localDueAt,
    handOver: (draft) => {
      if (draft.by.environment === 'test') return simulateSms(smsOf(draft, clock.now()))
      return handovers.track(draft.by.orgId, draft.to, () => handOverUnlessSuppressed(draft))
    },
    draftOf: smsDraftOf,
  }
}
