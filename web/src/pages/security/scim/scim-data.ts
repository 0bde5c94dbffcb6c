import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { serviceNow } from '../../../api/service-time.ts'
import { pageOf, usePages } from '../../../ui/use-pages.ts'

export type ScimToken =
  operations['getApiInternalScimTokens']['responses'][200]['content']['application/json']['data'][number]
export type Mapping = operations['getApiInternalScimMapping']['responses'][200]['content']['application/json']
export type DirectoryRole = Mapping['default_role']

export const tokensKey = ['scim', 'tokens']
export const mappingKey = ['scim', 'mapping']

export const useTokens = () =>
  usePages(tokensKey, (cursor) =>
    unwrap(api.GET('/api/internal/scim/tokens', { params: { query: pageOf(cursor, 50) } })),
  )

export const useMapping = () =>
  useQuery({ queryKey: mappingKey, queryFn: () => unwrap(api.GET('/api/internal/scim/mapping')) })

export const hasExpired = ({ expires_at }: ScimToken): boolean =>
  expires_at !== null && Date.parse(expires_at) <= serviceNow()
