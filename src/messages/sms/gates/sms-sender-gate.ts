import { invalid } from '../../../ground/errors.ts'
import { andThen, type MaybePromise } from '../../../ground/maybe-promise.ts'
import { isE164 } from '../../../ground/phone-number.ts'
import type { SmsSender, SmsSenders } from '../../../senders/sms-senders.ts'
import type { Gate } from '../../draft.ts'
import type { SmsDraft } from '../sms-draft.ts'

/** Requires a verified sender of the org, or chooses one from the pool. Test mode accepts any sender. */
export const smsSenderGate = (senders: SmsSenders): Gate<SmsDraft> => {
  const testSender = async ({ by, from, fromPool, to }: SmsDraft): Promise<SmsSender> => {
    if (fromPool === null) return { from: from as string, messageType: 'transactional' }
    const chosen = await senders.chooseForTest(by, fromPool, to)
    if (!chosen) throw invalid(['from_pool'], 'custom', 'There is no such pool, or it has no sender.')
    return chosen
  }

  const senderOf = (draft: SmsDraft): MaybePromise<SmsSender> => {
    const { by, from, fromPool, to } = draft
    if (by.environment === 'test') return testSender(draft)
    return fromPool === null ? senders.resolve(by, from as string) : senders.chooseFromPool(by, fromPool, to)
  }

  return {
    name: 'sender',
    at: ['single', 'batch', 'fire'],
    check: (draft) =>
      andThen(senderOf(draft), ({ from, messageType }) => {
        draft.from = from
        draft.messageType = messageType
        if (draft.mediaUrl.length > 0 && !isE164(from)) {
          throw invalid(['media_url'], 'custom', 'MMS needs a number as its sender.')
        }
      }),
  }
}
