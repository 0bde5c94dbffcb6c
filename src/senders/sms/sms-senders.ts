/** Decides which sender a text message is sent from. Runs before every live message, so rows are cached briefly. */
import type { Db, Tx } from '../../platform/db/pool.ts'
import { makeShortCache } from '../../platform/db/short-cache.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { andThen, type MaybePromise } from '../../platform/ground/maybe-promise.ts'
import { isE164 } from '../../platform/ground/phone-number.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { isSenderId } from '../../platform/ground/sender-id.ts'
import {
  assignPoolRecipient,
  findNumber,
  findPoolBySlug,
  findPoolRecipient,
  findSenderId,
  listPoolSenders,
  lockPoolForChoice,
  type SmsSenderRow,
  setPoolRecipientTenant,
} from './store/sender-lookups.ts'

export type MessageType = 'transactional' | 'promotional'

export type SmsSender = { from: string; messageType: MessageType }

type SmsCaller = Pick<Scope, 'orgId' | 'tenantId'>

const promotionalUseCases: ReadonlySet<string> = new Set(['marketing', 'mixed', 'low_volume'])

/** Messages of a registered campaign take their type from its use case. All others are transactional. */
export const messageTypeOf = (useCase: string | null): MessageType =>
  useCase !== null && promotionalUseCases.has(useCase.toLowerCase()) ? 'promotional' : 'transactional'

const senderOf = (row: SmsSenderRow): SmsSender => ({
  from: (row.kind === 'number' ? row.e164 : row.sender_id) as string,
  messageType: messageTypeOf(row.use_case),
})

/** A number of a tenant's pool belongs to that tenant. */
const isOpenTo = ({ tenantId }: SmsCaller, row: SmsSenderRow): boolean =>
  tenantId === null || row.tenant_id === null || row.tenant_id === tenantId

type Pool = { id: string; members: SmsSenderRow[] }

export const makeSmsSenders = ({ db, clock, trusted }: { db: Db; clock: Clock; trusted: () => boolean }) => {
  const rows = makeShortCache<{ row: SmsSenderRow | undefined }>({ trusted })
  const pools = makeShortCache<{ pool: Pool | undefined }>({ trusted })

  const find = (orgId: string, from: string) =>
    rows.through(`${orgId} ${from}`, orgId, async () => ({
      row: await db.row(isE164(from) ? findNumber : findSenderId, { orgId, from }),
    }))

  const findPool = ({ orgId, tenantId }: SmsCaller, slug: string) =>
    pools.through(`${orgId} ${tenantId ?? ''} ${slug}`, orgId, async () => {
      const found = await db.row(findPoolBySlug, { orgId, tenantId, slug })
      if (!found) return { pool: undefined }
      return { pool: { id: found.id, members: await db.rows(listPoolSenders, { orgId, poolId: found.id }) } }
    })

  const usablePool = async (caller: SmsCaller, slug: string): Promise<Pool> => {
    const { pool } = await findPool(caller, slug)
    if (!pool) throw new Failure('SENDER_NOT_REGISTERED')
    const members = pool.members.filter(({ environment, status }) => environment === 'live' && status === 'verified')
    if (members.length === 0) throw new Failure('SENDER_NOT_VERIFIED')
    return { id: pool.id, members }
  }

  /** Reads first: nearly every message of a pool goes to a recipient that has a sender. */
  const choose = async (caller: SmsCaller, { id: poolId, members }: Pool, recipient: string): Promise<SmsSender> => {
    const { orgId, tenantId } = caller
    const key = { orgId, poolId, recipient }
    const memberOf = (row: { phone_number_id: string } | undefined) =>
      members.find(({ id }) => id === row?.phone_number_id)
    const former = await db.row(findPoolRecipient, key)
    const kept = memberOf(former)
    if (kept) {
      // Several tenants can share a pool of the org.
      if (former?.tenant_id !== tenantId) await db.change(setPoolRecipientTenant, { ...key, tenantId })
      return senderOf(kept)
    }
    const candidates = members.map(({ id }) => id)
    const assign = async (tx: Tx) => {
      // Counts that were read before another recipient was assigned would let all of them choose the same member.
      const held = await tx.row(lockPoolForChoice, { orgId, poolId })
      // The pool was deleted since it was read.
      if (!held) throw new Failure('SENDER_NOT_REGISTERED')
      return tx.row(assignPoolRecipient, { ...key, tenantId, candidates, at: clock.now() })
    }
    const member = memberOf(await db.tx(assign))
    // The pool lost its members since they were read.
    if (!member) throw new Failure('SENDER_NOT_VERIFIED')
    return senderOf(member)
  }

  return {
    /** The sender of a live message. */
    resolve: (caller: SmsCaller, from: string): MaybePromise<SmsSender> => {
      if (!isE164(from) && !isSenderId(from)) throw new Failure('SENDER_NOT_REGISTERED')
      return andThen(find(caller.orgId, from), ({ row }) => {
        if (!row || !isOpenTo(caller, row)) throw new Failure('SENDER_NOT_REGISTERED')
        if (row.status !== 'verified') throw new Failure('SENDER_NOT_VERIFIED')
        return senderOf(row)
      })
    },

    /** Throws unless the pool has a member that live messages can be sent from. */
    assertPool: async (caller: SmsCaller, slug: string) => {
      await usablePool(caller, slug)
    },

    /** The member of the pool that this recipient keeps. */
    chooseFromPool: async (caller: SmsCaller, slug: string, recipient: string) =>
      choose(caller, await usablePool(caller, slug), recipient),

    /** A simulated message may be sent from any pool, also one without a usable member. Undefined without a pool. */
    chooseForTest: async (caller: SmsCaller, slug: string, recipient: string): Promise<SmsSender | undefined> => {
      const { pool } = await findPool(caller, slug)
      if (!pool) return undefined
      const usable = pool.members.filter(({ e164, sender_id }) => e164 !== null || sender_id !== null)
      const [first] = usable
      // Its numbers may not be provisioned yet.
      if (!first) return { from: slug, messageType: 'transactional' }
      const kept = await db.row(findPoolRecipient, { orgId: caller.orgId, poolId: pool.id, recipient })
      // A simulated message does not assign a sender: live messages share the pool.
      return senderOf(usable.find(({ id }) => id === kept?.phone_number_id) ?? first)
    },

    forgetOrg: (orgId: string) => {
      rows.forgetOrg(orgId)
      pools.forgetOrg(orgId)
    },
    forgetAll: () => {
      rows.clear()
      pools.clear()
    },
  }
}

export type SmsSenders = ReturnType<typeof makeSmsSenders>
