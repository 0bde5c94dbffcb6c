/** What is read is kept for a while. Whatever changes it has it read again. */
import { QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'
import { sessionQuery } from './session.ts'

/** A refusal stays one, so only lost connections and faults of the service are tried again. */
const retry = (count: number, error: unknown): boolean =>
  count < 3 && !(error instanceof ApiError && error.status < 500)

/** An organisation that is closed to the session while somebody works in it shows so. */
const noticeClosed = (error: unknown): void => {
  if (error instanceof ApiError && error.code === 'SSO_REQUIRED') {
    void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey })
  }
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeClosed }),
  defaultOptions: {
    queries: { retry, staleTime: 5_000, refetchIntervalInBackground: false },
    mutations: { networkMode: 'always' },
  },
})
