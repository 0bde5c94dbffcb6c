/** Creates, changes and removes endpoints. The URL is checked before anything is written. */
import { lockWithinPlan } from '../customers/usage/within-plan.ts'
import type { Actor, Audit } from '../journal/audit/append.ts'
import type { Db } from '../platform/db/pool.ts'
import type { Clock } from '../platform/ground/clock.ts'
import type { Vault } from '../platform/ground/crypto.ts'
import { keysetOf, type PageAsked } from '../platform/ground/cursor.ts'
import { Failure, invalid } from '../platform/ground/errors.ts'
import { newId } from '../platform/ground/ids.ts'
import { orNotFound } from '../platform/ground/or-not-found.ts'
import { assertOwnTenant } from '../platform/ground/own-rows.ts'
import { assertOwnEnvironment, type Scope } from '../platform/ground/scope.ts'
import { hourMs } from '../platform/ground/units.ts'
import { type GuardedAgent, NotAllowedFault, OutgoingFault } from '../platform/outgoing/guarded.ts'
import { cancelRest, cancelSome } from './cancel-deliveries.ts'
import type { CreateWebhook, PatchWebhook, RotateWebhook } from './shapes.ts'
import {
  countEndpoints,
  deleteEndpoint,
  type EndpointRow,
  findEndpoint,
  hasTenant,
  insertEndpoint,
  listEndpoints,
  lockEndpoint,
  rotateSecret,
  updateEndpoint,
} from './store/endpoint-rows.ts'
import { mintSecret, sealSecret } from './webhook-secret.ts'

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
  assertOwnTenant(scope, row.tenant_id)
  return row
}

const auditFieldsOf = ({ url, events, enabled, description, tenant_id }: EndpointRow) => ({
  url,
  events,
  enabled,
  description,
  tenant_id,
})

const entryOf = ({ orgId }: Scope, actor: Actor, id: string) => ({
  orgId,
  actor,
  resourceType: 'webhook',
  resourceId: id,
})

export const makeManageWebhooks = ({ db, clock, audit, vault, agent, mayAllowInsecure }: Needs) => {
  const checkUrl = async (url: string): Promise<void> => {
    try {
      await agent.check(url)
    } catch (error) {
      if (error instanceof NotAllowedFault) {
        throw new Failure('WEBHOOK_URL_NOT_ALLOWED', mayAllowInsecure && error.onlyInsecure ? insecureRefusal : {})
      }
      // The name may resolve later. Every attempt checks the address that it connects to.
      if (!(error instanceof OutgoingFault)) throw error
    }
  }

  return {
    create: async (scope: Scope, actor: Actor, body: CreateWebhook) => {
      const tenantId = body.tenant_id === undefined ? scope.tenantId : body.tenant_id
      assertOwnTenant(scope, tenantId)
      await checkUrl(body.url)
      const at = clock.now()
      const id = newId('webhookEndpoint', at.getTime())
      const secret = mintSecret()
      return db.tx(async (tx) => {
        if (tenantId !== null && !(await tx.row(hasTenant, { orgId: scope.orgId, tenantId }))) {
          throw invalid(['tenant_id'], 'custom', 'This tenant does not exist.')
        }
        await lockWithinPlan(tx, scope.orgId, 'webhook endpoints', countEndpoints)
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
        await audit(tx, { ...entryOf(scope, actor, id), action: 'webhook.created', metadata: auditFieldsOf(row) })
        return { row, secret }
      })
    },

    list: ({ orgId, tenantId }: Pick<Scope, 'orgId' | 'tenantId'>, page: PageAsked) =>
      db.rows(listEndpoints, { orgId, tenantId, ...keysetOf(page) }),

    /** For reading. Another tenant's endpoint is NOT_FOUND. */
    get: ({ orgId, tenantId }: Scope, id: string) => orNotFound(db.row(findEndpoint, { orgId, tenantId, id })),

    /** For actions such as a test fire. Another tenant's endpoint is TENANT_FORBIDDEN. */
    reach: async (scope: Scope, id: string) =>
      assertInReach(scope, await db.row(findEndpoint, { orgId: scope.orgId, tenantId: null, id })),

    patch: async (scope: Scope, actor: Actor, id: string, body: PatchWebhook) => {
      const before = assertInReach(scope, await db.row(findEndpoint, { orgId: scope.orgId, tenantId: null, id }))
      assertOwnEnvironment(scope, before.created_environment)
      const { url, description, events, enabled } = body
      if (url === undefined && description === undefined && events === undefined && enabled === undefined) {
        return before
      }
      if (url !== undefined) await checkUrl(url)
      let more = false
      const row = await db.tx(async (tx) => {
        const updated = tx.row(updateEndpoint, {
          orgId: scope.orgId,
          id,
          url: url ?? null,
          setDescription: description !== undefined,
          description: description ?? null,
          events: events ?? null,
          enabled: enabled ?? null,
          at: clock.now(),
        })
        const row = await orNotFound(updated)
        // A disabled or paused endpoint does not get its pending deliveries later.
        if (!row.enabled || row.events.length === 0) more = await cancelSome(tx, scope.orgId, id)
        await audit(tx, { ...entryOf(scope, actor, id), action: 'webhook.updated', metadata: { ...body } })
        return row
      })
      if (more) await cancelRest(db, scope.orgId, id)
      return row
    },

    remove: (scope: Scope, actor: Actor, id: string) =>
      db.tx(async (tx) => {
        const row = assertInReach(scope, await tx.row(lockEndpoint, { orgId: scope.orgId, id }))
        assertOwnEnvironment(scope, row.created_environment)
        await orNotFound(tx.row(deleteEndpoint, { orgId: scope.orgId, id }))
        await audit(tx, { ...entryOf(scope, actor, id), action: 'webhook.removed', metadata: auditFieldsOf(row) })
      }),

    rotate: (scope: Scope, actor: Actor, id: string, { overlap_hours }: RotateWebhook) =>
      db.tx(async (tx) => {
        assertInReach(scope, await tx.row(lockEndpoint, { orgId: scope.orgId, id }))
        const secret = mintSecret()
        const at = clock.now()
        const rotated = tx.row(rotateSecret, {
          orgId: scope.orgId,
          id,
          secret: sealSecret(vault, id, secret),
          previousUntil: overlap_hours === 0 ? null : new Date(at.getTime() + overlap_hours * hourMs),
          at,
        })
        const row = await orNotFound(rotated)
        await audit(tx, { ...entryOf(scope, actor, id), action: 'webhook.rotated', metadata: { overlap_hours } })
        return { row, secret }
      }),
  }
}

export type ManageWebhooks = ReturnType<typeof makeManageWebhooks>
