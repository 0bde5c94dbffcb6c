import { useQuery } from '@tanstack/react-query'

/** Whether the service has its development tools. It never has them in production. */
export const useDevTools = (): boolean =>
  useQuery({
    queryKey: ['dev-tools'],
    queryFn: async () => (await fetch('/api/dev/outbox?limit=1')).ok,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  }).data ?? false
