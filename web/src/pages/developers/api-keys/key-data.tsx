import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import type { components, paths } from '../../../api/schema.gen.ts'
import { serviceNow } from '../../../api/service-time.ts'
import { allScopes, isFullAccess, type Scope, sendingScopes } from '../../../parts/scope-list.ts'
import { apiKeys } from '../../../strings/api-keys.ts'
import { StatusDot, type Tone } from '../../../ui/badge.tsx'
import { everyRow, longPage } from '../../../ui/every-row.ts'
import { entriesOf, numberOf } from '../../../ui/list-text.ts'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import type { Resource } from '../../../ui/resource.ts'
import { timeColumn } from '../../../ui/time-column.tsx'
import { pageOf } from '../../../ui/use-pages.ts'

type KeyList = paths['/api/internal/api-keys']['get']['responses'][200]['content']['application/json']
export type ApiKey = KeyList['data'][number]

export const useDomainChoices = () =>
  useQuery({
    queryKey: ['domains', 'choices'],
    queryFn: () => everyRow((cursor) => unwrap(api.GET('/api/internal/domains', longPage(cursor)))),
    select: (rows) => rows.map(({ id, name }) => ({ value: id, label: name })),
  })

export type KeyValues = {
  name: string
  access: 'all' | 'sending' | 'chosen'
  scopes: string[]
  domains: string[]
  cidrs: string
  expires: string
  rate: string
  tenant: string
}

export const emptyKey: KeyValues = {
  name: '',
  access: 'all',
  scopes: [...sendingScopes],
  domains: [],
  cidrs: '',
  expires: '',
  rate: '',
  tenant: '',
}

export const valuesOf = (key: ApiKey): KeyValues => ({
  name: key.name,
  access: isFullAccess(key.scopes) ? 'all' : 'chosen',
  scopes: [...key.scopes],
  domains: key.allowed_domain_ids ?? [],
  cidrs: (key.allowed_cidrs ?? []).join('\n'),
  expires: '',
  rate: key.rate_limit_per_minute === null ? '' : String(key.rate_limit_per_minute),
  tenant: key.tenant_id ?? '',
})

const scopesOf = ({ access, scopes }: KeyValues): Scope[] => {
  if (access === 'all') return [...allScopes]
  return access === 'sending' ? [...sendingScopes] : (scopes as Scope[])
}

/** The body of a request. A field without a value removes the restriction; an empty expiry leaves it as it is. */
export const bodyOf = (values: KeyValues): components['schemas']['PatchKey'] => {
  const cidrs = entriesOf(values.cidrs)
  const days = numberOf(values.expires)
  return {
    name: values.name,
    scopes: scopesOf(values),
    tenant_id: values.tenant.trim() || null,
    allowed_domain_ids: values.domains.length > 0 ? values.domains : null,
    allowed_cidrs: cidrs.length > 0 ? cidrs : null,
    rate_limit_per_minute: numberOf(values.rate),
    ...(days !== null && { expires_in_days: days }),
  }
}

export type KeyState = 'active' | 'revoked' | 'expired'

export const stateOf = (key: ApiKey): KeyState => {
  if (key.revoked_at !== null) return 'revoked'
  return key.expires_at !== null && Date.parse(key.expires_at) <= serviceNow() ? 'expired' : 'active'
}

const tones: Record<KeyState, Tone> = { active: 'ok', expired: 'warn', revoked: 'neutral' }

export const keyList: Resource<ApiKey> = {
  key: ['api-keys'],
  title: apiKeys.title,
  titleOf: ({ name }) => name,
  gone: apiKeys.gone,
  load: (cursor, environment) =>
    unwrap(api.GET('/api/internal/api-keys', { params: { query: { environment, ...pageOf(cursor, 100) } } })),
  read: (id) => unwrap(api.GET('/api/internal/api-keys/{id}', { params: { path: { id } } })),
  columns: [
    { id: 'name', header: apiKeys.columns.name, cell: ({ name }) => <span className="font-medium">{name}</span> },
    {
      id: 'key',
      header: apiKeys.columns.key,
      className: 'hidden sm:table-cell',
      cell: ({ prefix, last_four }) => <span className="font-mono text-muted text-xs">{`${prefix}…${last_four}`}</span>,
    },
    {
      id: 'scopes',
      header: apiKeys.columns.scopes,
      className: 'hidden md:table-cell',
      cell: ({ scopes }) => (isFullAccess(scopes) ? apiKeys.fullAccess : apiKeys.someScopes(scopes.length)),
    },
    {
      id: 'state',
      header: apiKeys.columns.state,
      cell: (key) => <StatusDot tone={tones[stateOf(key)]}>{apiKeys[stateOf(key)]}</StatusDot>,
    },
    {
      id: 'used',
      header: apiKeys.columns.used,
      cell: ({ last_used_at }) => (last_used_at ? <RelativeTime at={last_used_at} /> : apiKeys.never),
    },
    timeColumn('created_at', apiKeys.columns.created, { className: 'hidden lg:table-cell' }),
  ],
}
