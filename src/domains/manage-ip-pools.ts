/** Dedicated IP pools: addresses that only the org's own mail leaves from. */

import { randomInt } from 'node:crypto'
import type { Actor, Audit } from '../audit/append.ts'
import { foreignKeyViolation } from '../db/faults.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Scope } from '../ground/scope.ts'
import { lockOrg } from '../orgs/store.ts'
import { dedicatedIpLimit } from '../usage/plan-limits.ts'
import type { CreateIpPool, PatchIpPool } from './shapes.ts'
import {
  countIps,
  deleteIpPool,
  findIpPool,
  holdPoolNames,
  type Ip,
  type IpPoolRow,
  insertIpPool,
  lockIpPool,
  updateIpPool,
} from './store.ts'

export interface ManageIpPools {
  create(scope: Scope, actor: Actor, body: CreateIpPool): Promise<IpPoolRow>
  get(scope: Scope, id: string): Promise<IpPoolRow>
  patch(scope: Scope, actor: Actor, id: string, body: PatchIpPool): Promise<IpPoolRow>
  remove(scope: Scope, actor: Actor, id: string): Promise<void>
}

type Needs = {
  db: Db
  clock: Clock
  audit: Audit
  /** Whether the provider of this installation is simulated: addresses are then there at once. */
  simulated: boolean
  /** Drops copies of the org's senders in this process at once; other processes hear of it. */
  forget: (orgId: string) => void
}

/** From 198.18.0.0/15, which is set aside for tests and routed nowhere. */
const simulatedAddress = (): string => `198.${18 + randomInt(2)}.${randomInt(256)}.${1 + randomInt(254)}`

export const makeManageIpPools = ({ db, clock, audit, simulated, forget }: Needs): ManageIpPools => {
  const newIps = (count: number): Ip[] =>
    Array.from({ length: count }, () =>
      simulated ? { address: simulatedAddress(), status: 'active' } : { address: null, status: 'provisioning' },
    )

  /** Waits for other changes of the org's pools, so that the count still holds when it is added to. */
  const assertRoom = async (tx: Tx, orgId: string, more: number): Promise<void> => {
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

  const get = async (scope: Scope, id: string): Promise<IpPoolRow> => {
    const row = await db.row(findIpPool, { orgId: scope.orgId, projectId: scope.projectId, id })
    if (!row) throw new Failure('NOT_FOUND')
    return row
  }

  const write = (
    tx: Tx,
    scope: Scope,
    actor: Actor,
    action: 'created' | 'updated' | 'removed',
    id: string,
    metadata: object,
  ) =>
    audit(tx, {
      orgId: scope.orgId,
      actor,
      action: `ip_pool.${action}`,
      resourceType: 'ip_pool',
      resourceId: id,
      metadata: { ...metadata },
    })

  return {
    create: (scope, actor, body) =>
      db.tx(async (tx) => {
        await assertRoom(tx, scope.orgId, body.ip_count)
        await tx.row(holdPoolNames, { region: body.region })
        const at = clock.now()
        const id = newId('ipPool', at.getTime())
        const ips = JSON.stringify(newIps(body.ip_count))
        const row = (await tx.row(insertIpPool, {
          orgId: scope.orgId,
          id,
          name: body.name,
          region: body.region,
          ipCount: body.ip_count,
          ips,
          at,
        })) as IpPoolRow
        const { name, region, ip_count } = row
        await write(tx, scope, actor, 'created', id, { name, region, ip_count })
        return row
      }),

    get,

    patch: async (scope, actor, id, body) => {
      if (Object.keys(body).length === 0) return get(scope, id)
      await db.tx(async (tx) => {
        // The org before the pool, in one order for every caller.
        await tx.row(lockOrg, { orgId: scope.orgId })
        const before = await tx.row(lockIpPool, { orgId: scope.orgId, id })
        if (!before) throw new Failure('NOT_FOUND')
        const { name = null, paused = null, ip_count: count = before.ip_count } = body
        await assertRoom(tx, scope.orgId, count - before.ip_count)
        if (name !== null) await tx.row(holdPoolNames, { region: before.region })
        const added = newIps(Math.max(0, count - before.ip_count))
        const ips = JSON.stringify([...before.ips.slice(0, count), ...added])
        await tx.row(updateIpPool, { orgId: scope.orgId, id, name, paused, ipCount: count, ips, at: clock.now() })
        await write(tx, scope, actor, 'updated', id, body)
      })
      forget(scope.orgId)
      return get(scope, id)
    },

    remove: async (scope, actor, id) => {
      try {
        await db.tx(async (tx) => {
          const gone = await tx.row(deleteIpPool, { orgId: scope.orgId, id })
          if (!gone) throw new Failure('NOT_FOUND')
          await write(tx, scope, actor, 'removed', id, gone)
        })
      } catch (error) {
        if (foreignKeyViolation(error)) throw new Failure('IP_POOL_IN_USE')
        throw error
      }
    },
  }
}
