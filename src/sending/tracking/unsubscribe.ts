/** Records unsubscribes of recipients, each once. */
import type { AppendEvents } from '../../journal/events/append-events.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import { comparable } from '../../platform/ground/mailbox.ts'
import type { Suppress } from '../../recipients/suppressions/suppress.ts'
import { findSubscriptionState, findUnsubscribed, insertUnsubscribed, lockRecipient, lockTenantRow } from './store.ts'
import type { UnsubscribeRef } from './tokens.ts'

/** The unsubscribe button of a mail client, or the page that the link in the mail opens. */
export type UnsubscribeSource = 'one_click' | 'email_link'
export type SubscriptionState = { orgName: string; unsubscribed: boolean }

type Needs = { db: Db; clock: Clock; suppress: Suppress; appendEvents: AppendEvents }

export const makeUnsubscribe = ({ db, clock, suppress, appendEvents }: Needs) => {
  const isErased = async (tx: Tx, { orgId, tenantId }: UnsubscribeRef): Promise<boolean> =>
    tenantId !== null && (await tx.row(lockTenantRow, { orgId, tenantId }))?.erased === true

  /** Whether this is the first unsubscribe. A stronger suppression keeps its reason and stores the unsubscribe too. */
  const isNew = async (tx: Tx, ref: UnsubscribeRef, source: UnsubscribeSource): Promise<boolean> => {
    // The suppression list also applies to live mail, so a test unsubscribe is not added to it.
    const { address, ...sent } = ref
    if (ref.environment === 'test') return !(await tx.row(findUnsubscribed, { ...sent, recipient: address }))
    const cause = { channel: 'email', value: address, reason: 'unsubscribe', source } as const
    return (await suppress(tx, { ...sent, ...cause })).changed
  }

  const record = async (tx: Tx, ref: UnsubscribeRef, source: UnsubscribeSource): Promise<void> => {
    const { orgId, tenantId, environment, address, messageId } = ref
    const at = clock.now()
    const id = newId('event', at.getTime())
    await tx.change(insertUnsubscribed, { orgId, id, at, messageId, tenantId, environment, recipient: address })
    const data = { channel: 'email', recipient: address, message_id: messageId, source }
    await appendEvents(tx, { orgId, tenantId, environment, event: 'message.unsubscribed', data })
  }

  return {
    /** Undefined when the org no longer exists. */
    subscriptionState: async (ref: UnsubscribeRef): Promise<SubscriptionState | undefined> => {
      const row = await db.row(findSubscriptionState, { ...ref, address: comparable(ref.address) })
      if (!row) return undefined
      // An erased tenant sends no more mail.
      const unsubscribed = row.tenant_erased || (row.unsubscribed && ref.environment === 'live')
      return { orgName: row.org_name, unsubscribed }
    },
    /** Whether anything was recorded. A repeated unsubscribe, or one for an erased tenant, changes nothing. */
    take: (unsubscribeRef: UnsubscribeRef, source: UnsubscribeSource): Promise<boolean> =>
      db.tx(async (tx) => {
        const ref = { ...unsubscribeRef, address: comparable(unsubscribeRef.address) }
        await tx.row(lockRecipient, { recipient: `unsubscribe ${ref.orgId} ${ref.tenantId ?? ''} ${ref.address}` })
        // The address was erased with the tenant. An old link must not store it again.
        const recorded = !(await isErased(tx, ref)) && (await isNew(tx, ref, source))
        if (recorded) await record(tx, ref, source)
        return recorded
      }),
  }
}

export type Unsubscribe = ReturnType<typeof makeUnsubscribe>
