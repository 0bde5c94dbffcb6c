/** The members that a send goes to: each address once, without those that are suppressed. */

import type { FindSuppressed } from '../../recipients/suppressions/find-suppressed.ts'
import type { BulkChannel } from '../messages/bulk-channel.ts'
import type { BlastRecipient } from './plan-slots.ts'
import type { SendMember } from './store/recipient-rows.ts'

/** Addresses per statement, so that other sends wait for a short one. */
const atOnce = 1_000

const distinctAddresses = (
  members: readonly SendMember[],
  { comparable }: BulkChannel,
): Map<string, BlastRecipient> => {
  const byAddress = new Map<string, BlastRecipient>()
  for (const { id, address, bytes } of members) {
    if (address === null) continue
    const key = comparable(address)
    if (!byAddress.has(key)) byAddress.set(key, { contactId: id, address, bytes })
  }
  return byAddress
}

type Request = { orgId: string; tenantId: string | null; channel: BulkChannel; members: readonly SendMember[] }

export const makeChooseRecipients =
  ({ findSuppressed }: { findSuppressed: FindSuppressed }) =>
  async ({
    orgId,
    tenantId,
    channel,
    members,
  }: Request): Promise<{ recipients: BlastRecipient[]; suppressed: number }> => {
    const byAddress = distinctAddresses(members, channel)
    const addresses = [...byAddress.keys()]
    let suppressed = 0
    for (let from = 0; from < addresses.length; from += atOnce) {
      const values = addresses.slice(from, from + atOnce)
      const { name, broadcast } = channel
      for (const value of await findSuppressed({ orgId, tenantId, channel: name, values, broadcast })) {
        byAddress.delete(value)
        suppressed++
      }
    }
    return { recipients: [...byAddress.values()], suppressed }
  }
