import { queryOptions, useQueryClient } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import type { operations } from '../api/schema.gen.ts'

export type SsoSettings = operations['getApiInternalSso']['responses'][200]['content']['application/json']
export type SsoChange = operations['putApiInternalSso']['requestBody']['content']['application/json']
export type Protocol = 'saml' | 'oidc'

export const ssoQuery = queryOptions({
  queryKey: ['sso'],
  queryFn: () => unwrap(api.GET('/api/internal/sso')),
})

export const usePutSso = () => {
  const client = useQueryClient()
  return async (body: SsoChange): Promise<void> => {
    client.setQueryData(ssoQuery.queryKey, await unwrap(api.PUT('/api/internal/sso', { body })))
  }
}

/** Each step has the settings, and the protocol that is configured or chosen. */
export type StepProps = { settings: SsoSettings; protocol: Protocol; goTo: (step: string) => void }
