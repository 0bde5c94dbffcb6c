/** Unsubscribing: the recipient's word, taken once. */
import type { Db, Tx } from '../db/pool.ts'
import type { AppendEvents } from '../events/append-events.ts'
import type { Clock } from '../ground/clock.ts'
import { newId } from '../ground/ids.ts'
import { comparable } from '../ground/mailbox.ts'
import type { Suppress } from '../suppressions/suppress.ts'
import { findSubscriptionState, findUnsubscribed, holdRecipient, holdTenant, insertUnsubscribed } from './store.ts'
import type { UnsubscribeRef } from './tokens.ts'

/** By a mail program's own button, or by the page a link in the mail leads to. */
export type UnsubscribeSource = 'one_click' | 'email_link'
export type SubscriptionState = { orgName: string; unsubscribed: boolean }

export interface Unsubscribe {
  /** Undefined when the org is no more: its links speak for nobody. */
  standing(ref: UnsubscribeRef): Promise<SubscriptionState | undefined>
  /** Whether anything was recorded; a repeat changes nothing. */
  take(ref: UnsubscribeRef, source: UnsubscribeSource): Promise<boolean>
}

type Needs = { db: Db; clock: Clock; suppress: Suppress; appendEvents: AppendEvents }

export const makeUnsubscribe = ({ db, clock, suppress, appendEvents }: Needs): Unsubscribe => {
  const isFirst = async (tx: Tx, ref: UnsubscribeRef): Promise<boolean> => {
    const { orgId, messageId, tenantId, environment, address } = ref
    return (
      (await tx.row(findUnsubscribed, { orgId, messageId, tenantId, environment, recipient: address })) === undefined
    )
  }

  const isErased = async (tx: Tx, { orgId, tenantId }: UnsubscribeRef): Promise<boolean> =>
    tenantId !== null && (await tx.row(holdTenant, { orgId, tenantId }))?.erased === true

  /** Whether this is news. A stronger suppression stays, and the wish is remembered beside it. */
  const isNews = async (tx: Tx, ref: UnsubscribeRef, source: UnsubscribeSource): Promise<boolean> => {
    // The list is shared with live mail, so what is simulated stays out of it.
    if (ref.environment === 'test') return isFirst(tx, ref)
    const { orgId, tenantId, address: value, messageId, environment } = ref
    const { changed } = await suppress(tx, {
      orgId,
      tenantId,
      channel: 'email',
      value,
      reason: 'unsubscribe',
      source,
      messageId,
      environment,
    })
    return changed
  }

  const record = async (tx: Tx, ref: UnsubscribeRef, source: UnsubscribeSource): Promise<void> => {
    const { orgId, tenantId, environment, address, messageId } = ref
    const now = clock.now()
    const id = newId('event', now.getTime())
    await tx.change(insertUnsubscribed, { orgId, id, at: now, messageId, tenantId, environment, recipient: address })
    const data = { channel: 'email', recipient: address, message_id: messageId, source }
    await appendEvents(tx, { orgId, tenantId, environment, event: 'message.unsubscribed', data })
  }

  return {
    standing: async (ref) => {
      const row = await db.row(findSubscriptionState, {
        orgId: ref.orgId,
        tenantId: ref.tenantId,
        address: comparable(ref.address),
      })
      if (!row) return undefined
      // Nobody writes for a tenant that was erased any more.
      const unsubscribed = row.tenant_erased || (row.unsubscribed && ref.environment === 'live')
      return { orgName: row.org_name, unsubscribed }
    },
    take: (given, source) =>
      db.tx(async (tx) => {
        const ref = { ...given, address: comparable(given.address) }
        await tx.row(holdRecipient, { recipient: `unsubscribe ${ref.orgId} ${ref.tenantId ?? ''} ${ref.address}` })
        // The address was erased with the tenant, and an old link does not bring it back.
        const news = !(await isErased(tx, ref)) && (await isNews(tx, ref, source))
        if (news) await record(tx, ref, source)
        return news
      }),
  }
}
