/** Dedicated IP pools: addresses that send only the org's own mail. */
import { randomInt } from 'node:crypto'
import { lockOrg } from '../../customers/orgs/store.ts'
import { dedicatedIpLimit } from '../../customers/usage/plan-limits.ts'
import type { Actor, Audit } from '../../journal/audit/append.ts'
import { foreignKeyViolation } from '../../platform/db/faults.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import type { CreateIpPool, PatchIpPool } from './ip-pool-shapes.ts'
import {
  countIps,
  deleteIpPool,
  findIpPool,
  type Ip,
  type IpPoolRow,
  insertIpPool,
  listIpPools,
  lockIpPool,
  lockPoolNames,
  updateIpPool,
} from './store/ip-pool-rows.ts'

type Needs = {
  db: Db
  clock: Clock
  audit: Audit
  /** Whether the provider of this installation is simulated. Addresses are then active immediately. */
  simulated: boolean
  /** Drops this process's cached senders of the org immediately. Other processes are notified. */
  forget: (orgId: string) => void
}

/** An address from 198.18.0.0/15, which is reserved for tests and never routed. */
const simulatedAddress = (): string => `198.${18 + randomInt(2)}.${randomInt(256)}.${1 + randomInt(254)}`

const entryOf = ({ orgId }: Scope, actor: Actor, id: string) =>
  ({ orgId, actor, resourceType: 'ip_pool', resourceId: id }) as const

export const makeManageIpPools = ({ db, clock, audit, simulated, forget }: Needs) => {
  const newIps = (count: number): Ip[] =>
    Array.from({ length: count }, () =>
      simulated ? { address: simulatedAddress(), status: 'active' } : { address: null, status: 'provisioning' },
    )

  /** Locks the org, so that the count stays correct until the addresses are added. */
  const assertWithinLimit = async (tx: Tx, orgId: string, more: number): Promise<void> => {
    const org = await tx.row(lockOrg, { orgId })
    const counted = await tx.row(countIps, { orgId })
    if (!org || !counted) throw new Failure('NOT_FOUND')
    const limit = dedicatedIpLimit[org.plan]
    if (more > 0 && counted.n + more > limit) {
      throw new Failure('DEDICATED_IP_LIMIT_EXCEEDED', {
        message: `The ${org.plan} plan allows ${limit} dedicated IPs.`,
      })
    }
  }

  const get = ({ orgId, projectId }: Scope, id: string): Promise<IpPoolRow> =>
    orNotFound(db.row(findIpPool, { orgId, projectId, id }))

  return {
    list: ({ orgId, projectId }: Pick<Scope, 'orgId' | 'projectId'>, page: PageAsked) =>
      db.rows(listIpPools, { orgId, projectId, ...keysetOf(page) }),

    create: (scope: Scope, actor: Actor, body: CreateIpPool) =>
      db.tx(async (tx) => {
        await assertWithinLimit(tx, scope.orgId, body.ip_count)
        await tx.row(lockPoolNames, { region: body.region })
        const at = clock.now()
        const id = newId('ipPool', at.getTime())
        const row = (await tx.row(insertIpPool, {
          orgId: scope.orgId,
          id,
          name: body.name,
          region: body.region,
          ipCount: body.ip_count,
          ips: JSON.stringify(newIps(body.ip_count)),
          at,
        })) as IpPoolRow
        const { name, region, ip_count } = row
        const metadata = { name, region, ip_count }
        await audit(tx, { ...entryOf(scope, actor, id), action: 'ip_pool.created', metadata })
        return row
      }),

    get,

    patch: async (scope: Scope, actor: Actor, id: string, body: PatchIpPool) => {
      if (Object.keys(body).length === 0) return get(scope, id)
      await db.tx(async (tx) => {
        // Every caller locks the org before the pool, so that two of them cannot deadlock.
        await tx.row(lockOrg, { orgId: scope.orgId })
        const before = await orNotFound(tx.row(lockIpPool, { orgId: scope.orgId, id }))
        const { name = null, paused = null, ip_count: count = before.ip_count } = body
        await assertWithinLimit(tx, scope.orgId, count - before.ip_count)
        if (name !== null) await tx.row(lockPoolNames, { region: before.region })
        const added = newIps(Math.max(0, count - before.ip_count))
        const ips = JSON.stringify([...before.ips.slice(0, count), ...added])
        await tx.row(updateIpPool, { orgId: scope.orgId, id, name, paused, ipCount: count, ips, at: clock.now() })
        await audit(tx, { ...entryOf(scope, actor, id), action: 'ip_pool.updated', metadata: body })
      })
      forget(scope.orgId)
      return get(scope, id)
    },

    remove: async (scope: Scope, actor: Actor, id: string) => {
      try {
        await db.tx(async (tx) => {
          const deleted = await orNotFound(tx.row(deleteIpPool, { orgId: scope.orgId, id }))
          await audit(tx, { ...entryOf(scope, actor, id), action: 'ip_pool.removed', metadata: deleted })
        })
      } catch (error) {
        if (foreignKeyViolation(error)) throw new Failure('IP_POOL_IN_USE')
        throw error
      }
    },
  }
}

export type ManageIpPools = ReturnType<typeof makeManageIpPools>
