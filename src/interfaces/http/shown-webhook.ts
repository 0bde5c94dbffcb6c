/** Webhook endpoints and their deliveries as the API and the dashboard show them. */
import type { z } from 'zod'
import { succeeded } from '../../webhooks/attempt.ts'
import { type Attempt, Delivery, type DeliveryDetail, type TestFired } from '../../webhooks/delivery-shapes.ts'
import { CreatedWebhook, RotatedWebhook, Webhook } from '../../webhooks/shapes.ts'
import { fixedHeaders, signatureHeaders } from '../../webhooks/sign-delivery.ts'
import type { DeliveryRow } from '../../webhooks/store/delivery-rows.ts'
import type { EndpointRow } from '../../webhooks/store/endpoint-rows.ts'
import { resource, shownAs } from './shown-resource.ts'

export const webhooks = resource({
  kind: 'webhookEndpoint',
  one: 'webhook endpoint',
  many: 'webhook endpoints',
  item: Webhook,
  show: shownAs(Webhook),
})

type WithSecret = { row: EndpointRow; secret: string }

export const newWebhooks = resource({
  ...webhooks,
  item: CreatedWebhook,
  show: ({ row, secret }: WithSecret) => {
    const { created_at, updated_at, secret_rotated_at, ...rest } = webhooks.show(row)
    return { ...rest, secret, created_at, updated_at, secret_rotated_at }
  },
})

export const rotatedWebhooks = resource({
  ...webhooks,
  item: RotatedWebhook,
  show: ({ row, secret }: WithSecret) => {
    const expiresAt = row.previous_secret_until?.toISOString()
    return {
      id: row.id,
      secret,
      secret_rotated_at: (row.secret_rotated_at as Date).toISOString(),
      ...(expiresAt !== undefined && { previous_secret_expires_at: expiresAt }),
    }
  },
})

export const webhookDeliveries = resource({
  kind: 'webhookDelivery',
  one: 'delivery',
  many: 'deliveries',
  item: Delivery,
  show: shownAs(Delivery),
})

type FoundDelivery = DeliveryRow & { payload: string; message_id: string | null }

export const shownDeliveryDetail = (row: FoundDelivery): z.output<typeof DeliveryDetail> => ({
  ...webhookDeliveries.show(row),
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
