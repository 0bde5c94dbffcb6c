import { invalid } from '../../../ground/errors.ts'
import { andThen, type MaybePromise } from '../../../ground/maybe-promise.ts'
import { isE164 } from '../../../ground/phone-number.ts'
import type { SmsSender, SmsSenders } from '../../../senders/sms-senders.ts'
import type { Gate } from '../../draft.ts'
import type { SmsDraft } from '../sms-draft.ts'

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
