/** Text messages to an audience. */
import { newId } from '../../../platform/ground/ids.ts'
import { callingCodeOf, isE164, needsDlt } from '../../../platform/ground/phone-number.ts'
import type { BulkChannel, BulkSend, ChannelAdapter } from '../channel-adapter.ts'
import type { Gate } from '../draft.ts'
import {
  allowlistGate,
  assertRenderedBody,
  dltGate,
  highCostGate,
  type SmsGateNeeds,
  smsSenderGate,
} from './gates/sms-gates.ts'
import { newSmsDraft, type SmsDraft } from './sms-draft.ts'

type Needs = Pick<SmsGateNeeds, 'smsSenders' | 'geo' | 'resolveDlt'> & { channel: ChannelAdapter<SmsDraft> }

/** A number without a calling code has no country to judge. The provider refuses it. */
const isJudged = (number: string): boolean => isE164(number) && callingCodeOf(number) !== undefined

export const makeBulkSms = ({ channel, smsSenders, geo, resolveDlt }: Needs): BulkChannel => {
  const sender = smsSenderGate(smsSenders)
  const allowlist = allowlistGate(geo)
  const dlt = resolveDlt && dltGate(resolveDlt)

  const draftOf = ({ at, by, jobId, from, dltTemplateId }: BulkSend, to: string): SmsDraft => {
    const content = { from, media_url: [], tags: [], metadata: {}, dlt_template_id: dltTemplateId ?? undefined }
    return { ...newSmsDraft(newId('message', at.getTime()), by, content, to), jobId }
  }

  return {
    name: 'sms',
    broadcast: false,
    comparable: (number) => number,
    checkSender: async (send) => sender.check(draftOf(send, ''), 'single'),
    checkDestinations: async (send, numbers) => {
      const draft = draftOf(send, '')
      const judged = numbers.filter(isJudged)
      const passAll = async (gate: Gate<SmsDraft>, given: readonly string[]): Promise<void> => {
        for (const to of given) {
          const checking = gate.check({ ...draft, to }, 'single')
          if (checking) await checking
        }
      }
      await passAll(highCostGate, judged)
      // An empty list allows no text message at all.
      const isClosed = (await geo.allowedBy(send.by.orgId))?.size === 0
      await passAll(allowlist, isClosed ? numbers : judged)
      // The template is the same for every number in India.
      const inIndia = judged.find(needsDlt)
      if (dlt && inIndia !== undefined) await dlt.check(draftOf(send, inIndia), 'single')
    },
    compose: async (send, to, { text }) => {
      const draft = { ...draftOf(send, to), body: text ?? '' }
      assertRenderedBody(draft.body)
      return { draft, content: channel.contentOf(draft) }
    },
    priceOf: (draft) => channel.priceOf(draft as SmsDraft),
  }
}
