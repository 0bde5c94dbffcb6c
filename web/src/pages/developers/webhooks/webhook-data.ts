import { api, unwrap } from '../../../api/client.ts'
import type { components } from '../../../api/schema.gen.ts'
import { webhooks } from '../../../strings/webhooks.ts'
import type { Tone } from '../../../ui/badge.tsx'
import { usePages } from '../../../ui/use-pages.ts'

export type Endpoint = components['schemas']['Webhook']
export type Delivery = components['schemas']['WebhookDelivery']
export type DeliveryDetail = components['schemas']['WebhookDeliveryDetail']

export const useEndpoints = () =>
  usePages(['webhooks'], (cursor) =>
    unwrap(api.GET('/api/internal/webhooks', { params: { query: { limit: '100', ...(cursor && { cursor }) } } })),
  )

export const readEndpoint = (id: string): Promise<Endpoint> =>
  unwrap(api.GET('/api/internal/webhooks/{id}', { params: { path: { id } } }))

export const readDelivery = (id: string): Promise<DeliveryDetail> =>
  unwrap(api.GET('/api/internal/webhook-deliveries/{id}', { params: { path: { id } } }))

/** Deliveries are attempted in the background. */
export const readAgainMs = 5_000

export const useDeliveries = (endpointId: string, status: string) =>
  usePages(
    ['webhook-deliveries', endpointId, status],
    (cursor) =>
      unwrap(
        api.GET('/api/internal/webhook-deliveries', {
          params: {
            query: {
              endpoint_id: endpointId,
              limit: '25',
              ...(cursor && { cursor }),
              ...(status && { status: status as Delivery['status'] }),
            },
          },
        }),
      ),
    { refetchInterval: readAgainMs },
  )

export const deliveryTones: Record<Delivery['status'], Tone> = {
  pending: 'info',
  delivered: 'ok',
  failed: 'bad',
  canceled: 'neutral',
}

export const endpointState = ({ enabled, disabled_reason, events }: Endpoint): { tone: Tone; word: string } => {
  const { state: words } = webhooks
  if (!enabled)
    return disabled_reason === 'auto' ? { tone: 'bad', word: words.auto } : { tone: 'neutral', word: words.manual }
  return events.length === 0 ? { tone: 'warn', word: words.paused } : { tone: 'ok', word: words.enabled }
}
