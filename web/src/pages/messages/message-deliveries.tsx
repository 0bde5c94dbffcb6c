import { api, unwrap } from '../../api/client.ts'
import { DeliveryBrowser } from '../../parts/deliveries.tsx'
import { messages } from '../../strings/messages.ts'
import { useFilters } from '../../ui/use-filters.ts'
import { pageOf, usePages } from '../../ui/use-pages.ts'

/** What webhook endpoints got about a message. */
export const MessageDeliveries = ({ id }: { id: string }) => {
  const [{ delivery }, change] = useFilters({ delivery: '' })
  const list = usePages(
    ['webhook-deliveries', 'message', id],
    (cursor) => {
      const params = { path: { id }, query: pageOf(cursor, 25) }
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
