import { api, unwrap } from '../../api/client.ts'
import { messages } from '../../strings/messages.ts'
import { useFilters } from '../../ui/use-filters.ts'
import { usePages } from '../../ui/use-pages.ts'
import { DeliveryBrowser } from '../developers/webhooks/deliveries.tsx'

/** What webhook endpoints got about a message. */
export const MessageDeliveries = ({ id }: { id: string }) => {
  const [{ delivery }, change] = useFilters({ delivery: '' })
  const list = usePages(
    ['webhook-deliveries', 'message', id],
    (cursor) => {
      const params = { path: { id }, query: { limit: '25', ...(cursor && { cursor }) } }
      return unwrap(api.GET('/api/internal/messages/{id}/deliveries', { params }))
    },
    { refetchInterval: 5_000 },
  )
  return (
    <DeliveryBrowser
      list={list}
      opened={delivery}
      onOpen={(opened) => change({ delivery: opened })}
      emptyHelp={messages.noDeliveries}
    />
  )
}
