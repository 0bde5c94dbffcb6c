/** Making, changing and removing endpoints. The address is judged before anything is written. */

import type { Actor, Audit } from '../audit/append.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import type { Vault } from '../ground/crypto.ts'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Scope } from '../ground/scope.ts'
import { lockOrg } from '../orgs/store.ts'
import { type GuardedAgent, NotAllowed, OutgoingFault } from '../outgoing/guarded.ts'
import { resourceLimit } from '../usage/plan-limits.ts'
import { cancelRest, cancelSome } from './cancel-deliveries.ts'
import type { CreateWebhook, PatchWebhook } from './shapes.ts'
import {
  countEndpoints,
  deleteEndpoint,
  type EndpointRow,
  findEndpoint,
  hasTenant,
  insertEndpoint,
  lockEndpoint,
  rotateSecret,
  updateEndpoint,
} from './store.ts'
import { mintSecret, sealSecret } from './webhook-secret.ts'

export interface ManageWebhooks {
  create(scope: Scope, actor: Actor, body: CreateWebhook): Promise<{ row: EndpointRow; secret: string }>
  /** For reading: what belongs to another tenant is not there. */
  get(scope: Scope, id: string): Promise<EndpointRow>
  /** For doing something with it: what belongs to another tenant is refused. */
  reach(scope: Scope, id: string): Promise<EndpointRow>
  patch(scope: Scope, actor: Actor, id: string, body: PatchWebhook): Promise<EndpointRow>
  remove(scope: Scope, actor: Actor, id: string): Promise<void>
  rotate(scope: Scope, actor: Actor, id: string): Promise<{ row: EndpointRow; secret: string }>
}

type Needs = { db: Db; clock: Clock; audit: Audit; vault: Vault; agent: Pick<GuardedAgent, 'judge'> }

/** A write to another tenant's row, or to one of the whole org, is refused; one of another org is not there. */
const assertInReach = (scope: Scope, row: EndpointRow | undefined): EndpointRow => {
  if (!row) throw new Failure('NOT_FOUND')
  if (scope.tenantId !== null && row.tenant_id !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
  return row
}

/** A test-mode key changes only what a test-mode key made. */
const assertEnvironment = (scope: Scope, row: EndpointRow): void => {
  if (scope.environment === 'test' && row.created_environment === 'live') {
    throw new Failure('ENVIRONMENT_ESCALATION')
  }
}

const described = ({ url, events, enabled, description, tenant_id }: EndpointRow) => ({
  url,
  events,
  enabled,
  description,
  tenant_id,
})

const assertRoom = async (tx: Tx, orgId: string): Promise<void> => {
  const org = await tx.row(lockOrg, { orgId })
  const counted = await tx.row(countEndpoints, { orgId })
  if (!org || !counted) throw new Failure('NOT_FOUND')
  const limit = resourceLimit['webhook endpoints'][org.plan]
  if (counted.n < limit) return
  throw new Failure('PLAN_RESOURCE_LIMIT', {
    message: `The ${org.plan} plan allows ${limit} webhook endpoints.`,
  })
}

export const makeManageWebhooks = ({ db, clock, audit, vault, agent }: Needs): ManageWebhooks => {
  const judge = async (url: string): Promise<void> => {
    try {
      await agent.judge(url)
    } catch (error) {
      if (error instanceof NotAllowed) throw new Failure('WEBHOOK_URL_NOT_ALLOWED')
      // A name that does not resolve yet may be on its way; each attempt judges what is dialled then.
      if (!(error instanceof OutgoingFault)) throw error
    }
  }

  const entry = (
    scope: Scope,
    actor: Actor,
    action: 'created' | 'updated' | 'removed' | 'rotated',
    resourceId: string,
    metadata: Record<string, unknown>,
  ) => ({
    orgId: scope.orgId,
    actor,
    action: `webhook.${action}` as const,
    resourceType: 'webhook',
    resourceId,
    metadata,
  })

  return {
    create: async (scope, actor, body) => {
      const tenantId = body.tenant_id === undefined ? scope.tenantId : body.tenant_id
      if (scope.tenantId !== null && tenantId !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
      await judge(body.url)
      const at = clock.now()
      const id = newId('webhookEndpoint', at.getTime())
      const secret = mintSecret()
      return db.tx(async (tx) => {
        if (tenantId !== null && !(await tx.row(hasTenant, { orgId: scope.orgId, tenantId }))) {
          const errors = [{ path: ['tenant_id'], code: 'custom', message: 'There is no such tenant.' }]
          throw new Failure('VALIDATION_ERROR', { errors })
        }
        await assertRoom(tx, scope.orgId)
        const row = await tx.row(insertEndpoint, {
          orgId: scope.orgId,
          id,
          tenantId,
          url: body.url,
          description: body.description,
          events: body.events,
          enabled: body.enabled,
          secret: sealSecret(vault, id, secret),
          environment: scope.environment,
          at,
        })
        if (!row) throw new Error('an endpoint was not inserted')
        await audit(tx, entry(scope, actor, 'created', id, described(row)))
        return { row, secret }
      })
    },

    get: async (scope, id) => {
      const row = await db.row(findEndpoint, { orgId: scope.orgId, tenantId: scope.tenantId, id })
      if (!row) throw new Failure('NOT_FOUND')
      return row
    },

    reach: async (scope, id) =>
      assertInReach(scope, await db.row(findEndpoint, { orgId: scope.orgId, tenantId: null, id })),

    patch: async (scope, actor, id, body) => {
      const before = assertInReach(scope, await db.row(findEndpoint, { orgId: scope.orgId, tenantId: null, id }))
      assertEnvironment(scope, before)
      const { url, description, events, enabled } = body
      if (url === undefined && description === undefined && events === undefined && enabled === undefined) {
        return before
      }
      if (url !== undefined) await judge(url)
      let more = false
      const row = await db.tx(async (tx) => {
        const row = await tx.row(updateEndpoint, {
          orgId: scope.orgId,
          id,
          url: url ?? null,
          setDescription: description !== undefined,
          description: description ?? null,
          events: events ?? null,
          enabled: enabled ?? null,
          at: clock.now(),
        })
        if (!row) throw new Failure('NOT_FOUND')
        // Whoever is off or pauses gets nothing later either.
        if (!row.enabled || row.events.length === 0) more = await cancelSome(tx, scope.orgId, id)
        await audit(tx, entry(scope, actor, 'updated', id, { ...body }))
        return row
      })
      if (more) await cancelRest(db, scope.orgId, id)
      return row
    },

    remove: (scope, actor, id) =>
      db.tx(async (tx) => {
        const row = assertInReach(scope, await tx.row(lockEndpoint, { orgId: scope.orgId, id }))
        assertEnvironment(scope, row)
        if (!(await tx.row(deleteEndpoint, { orgId: scope.orgId, id }))) throw new Failure('NOT_FOUND')
        await audit(tx, entry(scope, actor, 'removed', id, described(row)))
      }),

    rotate: (scope, actor, id) =>
      db.tx(async (tx) => {
        assertInReach(scope, await tx.row(lockEndpoint, { orgId: scope.orgId, id }))
        const secret = mintSecret()
        const row = await tx.row(rotateSecret, {
          orgId: scope.orgId,
          id,
          secret: sealSecret(vault, id, secret),
          at: clock.now(),
        })
        if (!row) throw new Failure('NOT_FOUND')
        await audit(tx, entry(scope, actor, 'rotated', id, {}))
        return { row, secret }
      }),
  }
}
