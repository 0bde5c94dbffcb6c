/** Webhook endpoints and their deliveries as the API and the dashboard show them. */
import type { z } from 'zod'
import { succeeded } from '../webhooks/attempt.ts'
import type { Delivery, DeliveryDetail, TestFired } from '../webhooks/delivery-shapes.ts'
import type { CreatedWebhook, RotatedWebhook, Webhook } from '../webhooks/shapes.ts'
import { fixedHeaders, signatureHeaders } from '../webhooks/sign-delivery.ts'
import type { Attempt, DeliveryRow } from '../webhooks/store/delivery-rows.ts'
import type { EndpointRow } from '../webhooks/store/endpoint-rows.ts'

export const shownWebhook = (row: EndpointRow): z.output<typeof Webhook> => ({
  id: row.id,
  url: row.url,
  description: row.description,
  events: row.events,
  enabled: row.enabled,
  disabled_reason: row.disabled_reason,
  disabled_at: row.disabled_at?.toISOString() ?? null,
  consecutive_failures: row.consecutive_failures,
  tenant_id: row.tenant_id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  secret_rotated_at: row.secret_rotated_at?.toISOString() ?? null,
})

type WithSecret = { row: EndpointRow; secret: string }

export const shownNewWebhook = ({ row, secret }: WithSecret): z.output<typeof CreatedWebhook> => {
  const { created_at, updated_at, secret_rotated_at, ...rest } = shownWebhook(row)
  return { ...rest, secret, created_at, updated_at, secret_rotated_at }
}

export const shownRotation = ({ row, secret }: WithSecret): z.output<typeof RotatedWebhook> => {
  const expiresAt = row.previous_secret_until?.toISOString()
  return {
    id: row.id,
    secret,
    secret_rotated_at: (row.secret_rotated_at as Date).toISOString(),
    ...(expiresAt !== undefined && { previous_secret_expires_at: expiresAt }),
  }
}

export const shownDelivery = (row: DeliveryRow): z.output<typeof Delivery> => ({
  id: row.id,
  endpoint_id: row.endpoint_id,
  event: row.event,
  environment: row.environment,
  tenant_id: row.tenant_id,
  status: row.status,
  attempt_count: row.attempt_count,
  max_attempts: row.max_attempts,
  next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
  replay_of: row.replay_of,
  replayed_as: row.replayed_as,
  created_at: row.created_at.toISOString(),
  delivered_at: row.delivered_at?.toISOString() ?? null,
  attempts: row.attempts,
})

type FoundDelivery = DeliveryRow & { payload: string; message_id: string | null }

export const shownDeliveryDetail = (row: FoundDelivery): z.output<typeof DeliveryDetail> => ({
  ...shownDelivery(row),
  payload: JSON.parse(row.payload),
  headers: {
    ...fixedHeaders({ ...row, tenantId: row.tenant_id }),
    ...Object.fromEntries(signatureHeaders.map((name) => [name, null])),
  },
  message_id: row.message_id,
})

type Fired = { id: string; attempt: Attempt }

export const shownTestFire = ({ id, attempt }: Fired, event: string): z.output<typeof TestFired> => {
  const { response_status, response_body, duration_ms, error } = attempt
  return { delivery_id: id, event, success: succeeded(attempt), response_status, response_body, duration_ms, error }
}
