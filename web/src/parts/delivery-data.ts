import { api, unwrap } from '../api/client.ts'
import type { components } from '../api/schema.gen.ts'
import type { Tone } from '../ui/badge.tsx'
import type { ReadById } from '../ui/resource.ts'
import { pageOf, usePages } from '../ui/use-pages.ts'

export type Delivery = components['schemas']['WebhookDelivery']
export type DeliveryDetail = components['schemas']['WebhookDeliveryDetail']

/** Deliveries are attempted in the background. */
export const readAgainMs = 5_000

export const deliveryById: ReadById<DeliveryDetail> = {
  key: ['webhook-deliveries'],
  read: (id) => unwrap(api.GET('/api/internal/webhook-deliveries/{id}', { params: { path: { id } } })),
  refetchInterval: readAgainMs,
}

export const useDeliveries = (endpointId: string, status: string) =>
  usePages(
    ['webhook-deliveries', endpointId, status],
    (cursor) => {
      const chosen = status && { status: status as Delivery['status'] }
      const query = { endpoint_id: endpointId, ...pageOf(cursor, 25), ...chosen }
      return unwrap(api.GET('/api/internal/webhook-deliveries', { params: { query } }))
    },
    { refetchInterval: readAgainMs },
  )

export const deliveryTones: Record<Delivery['status'], Tone> = {
  pending: 'info',
  delivered: 'ok',
  failed: 'bad',
  canceled: 'neutral',
}
