/** How far an organisation is with its first steps, read from the lists themselves. */
import { useQueries } from '@tanstack/react-query'
import { api, unwrap } from '../../api/client.ts'

const query = { limit: '20' }
const refetchInterval = 10_000

export type Progress = {
  key: boolean
  message: boolean
  arrived: boolean
  domain: boolean
  domainWaits: boolean
  webhook: boolean
  /** A domain to send the first message from. */
  sender: string
  /** Whether the sender is that of the sandbox, which every organisation has. */
  sandbox: boolean
}

/** Undefined until all lists are there. */
export const useProgress = (): Progress | undefined =>
  useQueries({
    queries: [
      {
        queryKey: ['api-keys', 'steps'],
        queryFn: () => unwrap(api.GET('/api/internal/api-keys', { params: { query } })),
        refetchInterval,
      },
      {
        queryKey: ['messages', 'steps'],
        queryFn: () => unwrap(api.GET('/api/internal/messages', { params: { query } })),
        refetchInterval,
      },
      {
        queryKey: ['domains', 'steps'],
        queryFn: () => unwrap(api.GET('/api/internal/domains', { params: { query } })),
        refetchInterval,
      },
      {
        queryKey: ['webhooks', 'steps'],
        queryFn: () => unwrap(api.GET('/api/internal/webhooks', { params: { query } })),
        refetchInterval,
      },
      { queryKey: ['org'], queryFn: () => unwrap(api.GET('/api/internal/org')) },
    ],
    combine: ([keys, messages, domains, webhooks, org]) => {
      if (!keys.data || !messages.data || !domains.data || !webhooks.data || !org.data) return undefined
      const verified = domains.data.data.find(({ status }) => status === 'verified')
      return {
        key: keys.data.data.some(
          ({ revoked_at, created_by, last_used_at }) => revoked_at === null && (created_by ?? last_used_at) !== null,
        ),
        message: messages.data.data.length > 0,
        arrived: messages.data.data.some(({ status }) => status === 'delivered'),
        domain: verified !== undefined,
        domainWaits: verified === undefined && domains.data.data.length > 0,
        webhook: webhooks.data.data.length > 0,
        sender: verified?.name ?? org.data.sandbox_domain,
        sandbox: verified === undefined,
      }
    },
  })
