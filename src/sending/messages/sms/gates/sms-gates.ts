/** The gates of a text message, in order. */
import { isAllowedDestination, type SmsGeo } from '../../../../customers/orgs/sms-geo.ts'
import type { Clock } from '../../../../platform/ground/clock.ts'
import { Failure, invalid } from '../../../../platform/ground/errors.ts'
import { andThen, type MaybePromise } from '../../../../platform/ground/maybe-promise.ts'
import { isE164, isHighCost, needsDlt } from '../../../../platform/ground/phone-number.ts'
import { matchesDltContent } from '../../../../senders/sms/dlt/dlt-content.ts'
import type { ResolveDlt } from '../../../../senders/sms/resolve-dlt.ts'
import type { SmsSender, SmsSenders } from '../../../../senders/sms/sms-senders.ts'
import type { RenderTemplates } from '../../../templates/render.ts'
import type { Gate } from '../../draft.ts'
import { staysScheduled } from '../../schedule.ts'
import { lengthOf, maxBodyLength } from '../shapes.ts'
import type { SmsDraft } from '../sms-draft.ts'

const smsScheduleGate = (clock: Clock): Gate<SmsDraft> => ({
  name: 'schedule',
  at: ['single'],
  check: (draft) => {
    if (!staysScheduled(draft, clock)) draft.local = null
  },
})

export const assertRenderedBody = (body: string): void => {
  const length = lengthOf(body)
  if (length === 0) throw invalid(['body'], 'too_small', 'The template renders to an empty body.')
  if (length > maxBodyLength) {
    throw invalid(['body'], 'too_big', `The template renders to more than ${maxBodyLength} characters.`)
  }
}

/** Renders the template, unless the request has a body of its own. The schema does not see a rendered body. */
const smsTemplateGate = (templates: RenderTemplates): Gate<SmsDraft> => ({
  name: 'template',
  at: ['single'],
  check: async (draft) => {
    if (!draft.template) return
    const given = draft.body === '' ? {} : { text: draft.body }
    const { text } = await templates.render(draft.by, { ...draft.template, channel: 'sms', given })
    draft.body = text ?? ''
    assertRenderedBody(draft.body)
  },
})

// Where a text message may be sent. These gates apply when it is accepted, also to scheduled and test messages.

export const highCostGate: Gate<SmsDraft> = {
  name: 'high cost',
  at: ['single', 'batch', 'code'],
  check: ({ to }) => {
    if (isHighCost(to)) throw new Failure('HIGH_COST_DESTINATION')
  },
}

export const allowlistGate = (geo: SmsGeo): Gate<SmsDraft> => ({
  name: 'allowlist',
  at: ['single', 'batch', 'code'],
  check: ({ by, to }) =>
    andThen(geo.allowedBy(by.orgId), (allowed) => {
      if (!isAllowedDestination(allowed, to)) throw new Failure('SMS_DESTINATION_NOT_ALLOWED')
    }),
})

/** Messages to India carry the ids of a registered template. They are looked up again when the message is due. */
export const dltGate = (resolve: ResolveDlt): Gate<SmsDraft> => ({
  name: 'dlt',
  at: ['single', 'batch', 'fire', 'code'],
  check: (draft, kind) => {
    if (!needsDlt(draft.to)) return
    if (draft.mediaUrl.length > 0) throw invalid(['media_url'], 'custom', 'MMS cannot be sent to +91 numbers.')
    return andThen(resolve(draft.by, draft.dltTemplateId), ({ entityId, templateId, content }) => {
      // The carrier checks the content of other messages.
      if (kind === 'code' && !matchesDltContent(content, draft.body)) {
        throw invalid(['template'], 'custom', 'Must render to the content of the DLT template.')
      }
      draft.dlt = { entityId, templateId }
    })
  },
})

/** Completes the draft with its sender. */
const sendFrom = (draft: SmsDraft, { from, messageType }: SmsSender): void => {
  draft.from = from
  draft.messageType = messageType
  if (draft.mediaUrl.length > 0 && !isE164(from)) {
    throw invalid(['media_url'], 'custom', 'MMS needs a number as its sender.')
  }
}

const choosesMember = ({ by, fromPool }: SmsDraft): boolean => fromPool !== null && by.environment === 'live'

/** Requires a verified sender of the org, or a pool that has one. Test mode accepts any sender. */
export const smsSenderGate = (senders: SmsSenders): Gate<SmsDraft> => {
  const testSender = async ({ by, from, fromPool, to }: SmsDraft): Promise<SmsSender> => {
    if (fromPool === null) return { from: from as string, messageType: 'transactional' }
    const chosen = await senders.chooseForTest(by, fromPool, to)
    if (!chosen) throw invalid(['from_pool'], 'custom', 'There is no such pool.')
    return chosen
  }

  const senderOf = (draft: SmsDraft): MaybePromise<SmsSender> =>
    draft.by.environment === 'test' ? testSender(draft) : senders.resolve(draft.by, draft.from as string)

  return {
    name: 'sender',
    at: ['single', 'batch', 'fire', 'code'],
    check: (draft) =>
      choosesMember(draft)
        ? senders.assertPool(draft.by, draft.fromPool as string)
        : andThen(senderOf(draft), (sender) => sendFrom(draft, sender)),
  }
}

/** Chooses the member of the pool. Runs after the suppression check, so that only recipients are assigned to it. */
export const poolMemberGate = (senders: SmsSenders): Gate<SmsDraft> => ({
  name: 'pool member',
  at: ['single', 'fire'],
  applies: choosesMember,
  check: async (draft) => sendFrom(draft, await senders.chooseFromPool(draft.by, draft.fromPool as string, draft.to)),
})

export type SmsGateNeeds = {
  clock: Clock
  templates: RenderTemplates
  geo: SmsGeo
  /** Null lifts the DLT rules. */
  resolveDlt: ResolveDlt | null
  smsSenders: SmsSenders
}

/** The gates of a text message, in order. The suppression check and the usage limits follow, in one statement. */
export const smsGates = (needs: SmsGateNeeds): readonly Gate<SmsDraft>[] => [
  smsScheduleGate(needs.clock),
  smsTemplateGate(needs.templates),
  highCostGate,
  allowlistGate(needs.geo),
  ...(needs.resolveDlt ? [dltGate(needs.resolveDlt)] : []),
  smsSenderGate(needs.smsSenders),
]
