/** Creates, changes and removes endpoints. The URL is checked before anything is written. */
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
import type { CreateWebhook, PatchWebhook, RotateWebhook } from './shapes.ts'
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
} from './store/endpoint-rows.ts'
import { mintSecret, sealSecret } from './webhook-secret.ts'

const hour = 3_600_000

export interface ManageWebhooks {
  create(scope: Scope, actor: Actor, body: CreateWebhook): Promise<{ row: EndpointRow; secret: string }>
  /** For reading. Another tenant's endpoint is NOT_FOUND. */
  get(scope: Scope, id: string): Promise<EndpointRow>
  /** For actions such as a test fire. Another tenant's endpoint is TENANT_FORBIDDEN. */
  reach(scope: Scope, id: string): Promise<EndpointRow>
  patch(scope: Scope, actor: Actor, id: string, body: PatchWebhook): Promise<EndpointRow>
  remove(scope: Scope, actor: Actor, id: string): Promise<void>
  rotate(scope: Scope, actor: Actor, id: string, body: RotateWebhook): Promise<{ row: EndpointRow; secret: string }>
}

type Needs = {
  db: Db
  clock: Clock
  audit: Audit
  vault: Vault
  agent: Pick<GuardedAgent, 'check'>
  /** Whether the operator could allow insecure URLs. In production the service does not start with that setting. */
  mayAllowInsecure: boolean
}

const insecureRefusal = {
  message:
    'This webhook URL is not allowed, because it uses plain HTTP or a private host. Set WEBHOOK_ALLOW_INSECURE=true and restart the service to allow it.',
}

/** A tenant key cannot change an endpoint of another tenant or of the whole org. Another org's is NOT_FOUND. */
const assertInReach = (scope: Scope, row: EndpointRow | undefined): EndpointRow => {
  if (!row) throw new Failure('NOT_FOUND')
  if (scope.tenantId !== null && row.tenant_id !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
  return row
}

/** A test-mode key can change only endpoints that a test-mode key created. */
const assertEnvironment = (scope: Scope, row: EndpointRow): void => {
  if (scope.environment === 'test' && row.created_environment === 'live') {
    throw new Failure('ENVIRONMENT_ESCALATION')
  }
}

const auditFieldsOf = ({ url, events, enabled, description, tenant_id }: EndpointRow) => ({
  url,
  events,
  enabled,
  description,
  tenant_id,
})

type EntryParts = {
  scope: Scope
  actor: Actor
  id: string
  action: 'webhook.created' | 'webhook.updated' | 'webhook.removed' | 'webhook.rotated'
  metadata: Record<string, unknown>
}

const auditEntry = ({ scope, actor, id, action, metadata }: EntryParts) => ({
  orgId: scope.orgId,
  actor,
  action,
  resourceType: 'webhook',
  resourceId: id,
  metadata,
})

const assertWithinPlan = async (tx: Tx, orgId: string): Promise<void> => {
  const org = await tx.row(lockOrg, { orgId })
  const counted = await tx.row(countEndpoints, { orgId })
  if (!org || !counted) throw new Failure('NOT_FOUND')
  const limit = resourceLimit['webhook endpoints'][org.plan]
  if (counted.n < limit) return
  throw new Failure('PLAN_RESOURCE_LIMIT', {
    message: `The ${org.plan} plan allows ${limit} webhook endpoints.`,
  })
}

export const makeManageWebhooks = ({ db, clock, audit, vault, agent, mayAllowInsecure }: Needs): ManageWebhooks => {
  const checkUrl = async (url: string): Promise<void> => {
    try {
      await agent.check(url)
    } catch (error) {
      if (error instanceof NotAllowed) {
        throw new Failure('WEBHOOK_URL_NOT_ALLOWED', mayAllowInsecure && error.onlyInsecure ? insecureRefusal : {})
      }
      // The name may resolve later. Every attempt checks the address that it connects to.
      if (!(error instanceof OutgoingFault)) throw error
    }
  }

  return {
    create: async (scope, actor, body) => {
      const tenantId = body.tenant_id === undefined ? scope.tenantId : body.tenant_id
      if (scope.tenantId !== null && tenantId !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
      await checkUrl(body.url)
      const at = clock.now()
      const id = newId('webhookEndpoint', at.getTime())
      const secret = mintSecret()
      return db.tx(async (tx) => {
        if (tenantId !== null && !(await tx.row(hasTenant, { orgId: scope.orgId, tenantId }))) {
          const errors = [{ path: ['tenant_id'], code: 'custom', message: 'This tenant does not exist.' }]
          throw new Failure('VALIDATION_ERROR', { errors })
        }
        await assertWithinPlan(tx, scope.orgId)
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
        if (!row) throw new Error('the webhook endpoint was not inserted')
        await audit(tx, auditEntry({ scope, actor, id, action: 'webhook.created', metadata: auditFieldsOf(row) }))
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
      if (url !== undefined) await checkUrl(url)
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
        // A disabled or paused endpoint does not get its pending deliveries later.
        if (!row.enabled || row.events.length === 0) more = await cancelSome(tx, scope.orgId, id)
        await audit(tx, auditEntry({ scope, actor, id, action: 'webhook.updated', metadata: { ...body } }))
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
        await audit(tx, auditEntry({ scope, actor, id, action: 'webhook.removed', metadata: auditFieldsOf(row) }))
      }),

    rotate: (scope, actor, id, { overlap_hours }) =>
      db.tx(async (tx) => {
        assertInReach(scope, await tx.row(lockEndpoint, { orgId: scope.orgId, id }))
        const secret = mintSecret()
        const at = clock.now()
        const row = await tx.row(rotateSecret, {
          orgId: scope.orgId,
          id,
          secret: sealSecret(vault, id, secret),
          previousUntil: overlap_hours === 0 ? null : new Date(at.getTime() + overlap_hours * hour),
          at,
        })
        if (!row) throw new Failure('NOT_FOUND')
        await audit(tx, auditEntry({ scope, actor, id, action: 'webhook.rotated', metadata: { overlap_hours } }))
        return { row, secret }
      }),
  }
}
