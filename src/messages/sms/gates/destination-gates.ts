/** Where a text message may be sent. These gates apply when it is accepted, also to scheduled and test messages. */
import { Failure, invalid } from '../../../ground/errors.ts'
import { andThen } from '../../../ground/maybe-promise.ts'
import { isHighCost, needsDlt } from '../../../ground/phone-number.ts'
import { isAllowedDestination, type SmsGeo } from '../../../orgs/sms-geo.ts'
import { matchesDltContent } from '../../../senders/dlt/dlt-content.ts'
import type { ResolveDlt } from '../../../senders/resolve-dlt.ts'
import type { Gate } from '../../draft.ts'
import type { SmsDraft } from '../sms-draft.ts'

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
