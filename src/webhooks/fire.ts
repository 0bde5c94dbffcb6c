/** Test fires and replays: deliveries that a user requests. */
import type { Actor, Audit } from '../journal/audit/append.ts'
import { entryAbout } from '../journal/audit/entry-about.ts'
import type { Db, Tx } from '../platform/db/pool.ts'
import type { Clock } from '../platform/ground/clock.ts'
import type { Vault } from '../platform/ground/crypto.ts'
import { Failure, invalid } from '../platform/ground/errors.ts'
import { newId, timeOfId } from '../platform/ground/ids.ts'
import { orNotFound } from '../platform/ground/or-not-found.ts'
import type { Scope } from '../platform/ground/scope.ts'
import { minuteMs } from '../platform/ground/units.ts'
import { type AttemptDelivery, succeeded } from './attempt.ts'
import type { ReplayFailed } from './delivery-shapes.ts'
import type { WebhookLimits } from './limits.ts'
import { eventEnvelopeOf, type KnownEvent, sampleOf } from './samples.ts'
import {
  failedDeliveries,
  findDelivery,
  findDeliveryEndpoint,
  findOrgDelivery,
  insertTestFire,
  replayDeliveries,
} from './store/delivery-rows.ts'
import { clearStreak, type EndpointRow } from './store/endpoint-rows.ts'
import { openSecrets, type SigningSecrets } from './webhook-secret.ts'

export const maxAttempts = 8
const maxReplaysPerCall = 100

export type ReplayedDelivery = { id: string; replay_of: string }

type Needs = {
  db: Db
  clock: Clock
  audit: Audit
  vault: Vault
  limits: WebhookLimits
  send: AttemptDelivery
  wake: () => void
}

const assertEnabled = ({ enabled }: EndpointRow): void => {
  if (!enabled) throw new Failure('ENDPOINT_DISABLED')
}

/** The sealed secrets that sign at this time, newest first. */
const secretsAt = ({ secret, previous_secret, previous_secret_until: until }: EndpointRow, at: Date): SigningSecrets =>
  previous_secret !== null && until !== null && until > at ? [secret, previous_secret] : [secret]

/** The time in the id of a delivery, with a minute around it. */
const createdAround = (id: string): { from: Date; to: Date } => {
  const at = timeOfId(id)
  // No delivery has an id whose time PostgreSQL cannot store.
  if (!(at < Date.UTC(9_999, 0))) throw new Failure('NOT_FOUND')
  return { from: new Date(at - minuteMs), to: new Date(at + minuteMs) }
}

export const makeFireWebhooks = ({ db, clock, audit, vault, limits, send, wake }: Needs) => {
  const find = async ({ orgId }: Scope, endpoint: EndpointRow, id: string) =>
    orNotFound(db.row(findDelivery, { orgId, endpointId: endpoint.id, id, ...createdAround(id) }))

  const replayChosen = (
    scope: Scope,
    actor: Actor,
    endpoint: EndpointRow,
    choose: (tx: Tx) => Promise<{ id: string; created_at: Date }[]>,
  ): Promise<ReplayedDelivery[]> =>
    db.tx(async (tx) => {
      const chosen = await choose(tx)
      if (chosen.length === 0) return []
      const at = clock.now()
      const replays = await tx.rows(replayDeliveries, {
        orgId: scope.orgId,
        endpointId: endpoint.id,
        ids: chosen.map(({ id }) => id),
        createdAt: chosen.map(({ created_at }) => created_at),
        newIds: chosen.map(() => newId('webhookDelivery', at.getTime())),
        at,
        maxAttempts,
      })
      await audit(
        tx,
        ...replays.map(({ id, replay_of }) => ({
          ...entryAbout(scope.orgId, actor, 'webhook', endpoint.id),
          action: 'webhook.delivery_replayed' as const,
          metadata: { delivery_id: id, replay_of },
        })),
      )
      return replays
    })

  return {
    find,

    /** A delivery of any endpoint of the org, with the message that it is about. */
    findInOrg: async ({ orgId }: Scope, id: string) =>
      orNotFound(db.row(findOrgDelivery, { orgId, id, ...createdAround(id) })),

    /** The id of the endpoint that a delivery of the org belongs to. */
    endpointOf: async ({ orgId }: Scope, id: string) =>
      (await orNotFound(db.row(findDeliveryEndpoint, { orgId, id, ...createdAround(id) }))).endpoint_id,

    /** Sends a sample once and returns the response of the receiver. */
    test: async (scope: Scope, actor: Actor, endpoint: EndpointRow, event: KnownEvent) => {
      assertEnabled(endpoint)
      await limits.testFire(scope.orgId, endpoint.id)
      const at = clock.now()
      const id = newId('webhookDelivery', at.getTime())
      const sample = sampleOf(event)
      const tenantId = endpoint.tenant_id
      const payload = JSON.stringify(eventEnvelopeOf(sample, { tenantId, timestamp: at.toISOString(), deliveryId: id }))
      const target = { url: endpoint.url, secrets: openSecrets(vault, endpoint.id, secretsAt(endpoint, at)) }
      const { environment } = sample
      const attempt = await send(target, { id, event, environment, tenantId, payload }, 1)
      const delivered = succeeded(attempt)
      await db.tx(async (tx) => {
        await tx.change(insertTestFire, {
          orgId: scope.orgId,
          id,
          at,
          endpointId: endpoint.id,
          tenantId,
          environment,
          event,
          payload,
          delivered,
          attempts: JSON.stringify([attempt]),
        })
        if (delivered) await tx.change(clearStreak, { orgId: scope.orgId, id: endpoint.id })
        const about = entryAbout(scope.orgId, actor, 'webhook', endpoint.id)
        const metadata = { delivery_id: id, event, success: delivered }
        await audit(tx, { ...about, action: 'webhook.test_fired', metadata })
      })
      return { id, attempt }
    },

    replay: async (scope: Scope, actor: Actor, endpoint: EndpointRow, id: string) => {
      const row = await find(scope, endpoint, id)
      assertEnabled(endpoint)
      if (row.status === 'pending') {
        const message = 'This delivery is still pending. Replay it once it is delivered, failed or canceled.'
        throw invalid(['delivery_id'], 'custom', message)
      }
      await limits.replay(scope.orgId, endpoint.id)
      const [replay] = await replayChosen(scope, actor, endpoint, async () => [row])
      if (!replay) throw new Failure('NOT_FOUND')
      wake()
      return replay
    },

    replayFailed: async (scope: Scope, actor: Actor, endpoint: EndpointRow, which: ReplayFailed) => {
      const { since = null, until = null, event = null } = which
      assertEnabled(endpoint)
      await limits.replay(scope.orgId, endpoint.id)
      let more = false
      const replays = await replayChosen(scope, actor, endpoint, async (tx) => {
        const found = await tx.rows(failedDeliveries, {
          orgId: scope.orgId,
          endpointId: endpoint.id,
          since,
          until,
          event,
          limit: maxReplaysPerCall + 1,
        })
        more = found.length > maxReplaysPerCall
        return found.slice(0, maxReplaysPerCall)
      })
      wake()
      return { replays, more }
    },
  }
}

export type FireWebhooks = ReturnType<typeof makeFireWebhooks>
