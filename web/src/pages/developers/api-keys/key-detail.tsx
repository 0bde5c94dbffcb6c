import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { serviceNow } from '../../../api/service-time.ts'
import { isFullAccess } from '../../../parts/scope-list.ts'
import { apiKeys } from '../../../strings/api-keys.ts'
import { ui } from '../../../strings/ui.ts'
import { Badge } from '../../../ui/badge.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { DangerSection } from '../../../ui/confirm-dialog.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { curl } from '../../../ui/curl.ts'
import { DetailList } from '../../../ui/detail-list.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { useSave } from '../../../ui/use-save.ts'
import { type ApiKey, bodyOf, stateOf, useDomainChoices, valuesOf } from './key-data.tsx'
import { KeyForm } from './key-form.tsx'

const Facts = ({ apiKey }: { apiKey: ApiKey }) => {
  const { data: domains = [] } = useDomainChoices()
  const words = apiKeys.facts
  const nameOf = (id: string) => domains.find(({ value }) => value === id)?.label ?? id
  return (
    <div className="flex flex-col gap-5">
      <DetailList
        facts={[
          { name: words.id, value: <Copyable text={apiKey.id} /> },
          { name: words.key, value: <code>{`${apiKey.prefix}…${apiKey.last_four}`}</code> },
          { name: words.environment, value: apiKey.environment },
          { name: words.created, value: <RelativeTime at={apiKey.created_at} /> },
          { name: words.used, value: apiKey.last_used_at ? <RelativeTime at={apiKey.last_used_at} /> : apiKeys.never },
          {
            name: words.expires,
            value: apiKey.expires_at ? <RelativeTime due at={apiKey.expires_at} /> : apiKeys.never,
          },
          { name: words.rate, value: apiKey.rate_limit_per_minute },
          { name: words.tenant, value: apiKey.tenant_id && <Copyable text={apiKey.tenant_id} /> },
          { name: words.domains, value: apiKey.allowed_domain_ids?.map(nameOf).join(', ') ?? apiKeys.every },
          { name: words.cidrs, value: apiKey.allowed_cidrs?.join(', ') ?? apiKeys.every },
          ...(apiKey.revoked_at ? [{ name: words.revoked, value: <RelativeTime at={apiKey.revoked_at} /> }] : []),
        ]}
      />
      <div>
        <h3 className="mb-1.5 text-muted text-xs">{apiKeys.scopesTitle}</h3>
        <div className="flex flex-wrap gap-1">
          {isFullAccess(apiKey.scopes) ? (
            <Badge tone="info">{apiKeys.fullAccess}</Badge>
          ) : (
            apiKey.scopes.map((scope) => <Badge key={scope}>{scope}</Badge>)
          )}
        </div>
      </div>
    </div>
  )
}

const EditKey = ({ apiKey }: { apiKey: ApiKey }) => {
  const [values, setValues] = useState(() => valuesOf(apiKey))
  const form = useSave(
    () => {
      const params = { path: { id: apiKey.id } }
      return unwrap(api.PATCH('/api/internal/api-keys/{id}', { params, body: bodyOf(values) }))
    },
    { message: ui.saved, done: () => setValues((now) => ({ ...now, expires: '' })), refreshes: [['api-keys']] },
  )
  return (
    <KeyForm
      editing
      values={values}
      onChange={(part) => setValues((now) => ({ ...now, ...part }))}
      form={form}
      onSubmit={form.save}
    />
  )
}

const hourMs = 3_600_000
const usedLately = ({ last_used_at }: ApiKey): boolean =>
  last_used_at !== null && serviceNow() - Date.parse(last_used_at) < hourMs

const Revoke = ({ apiKey }: { apiKey: ApiKey }) => {
  const revoke = () => unwrap(api.DELETE('/api/internal/api-keys', { params: { query: { id: apiKey.id } } }))
  return (
    <DangerSection
      help={apiKeys.revokeHelp}
      gate="requireOwnerSession"
      title={apiKeys.revokeTitle(apiKey.name)}
      action={apiKeys.revoke}
      typed={apiKey.name}
      onConfirm={revoke}
      message={apiKeys.revokedNow}
      refreshes={[['api-keys']]}
    >
      {usedLately(apiKey) && <p className="mb-2 font-medium text-bad">{apiKeys.usedLately}</p>}
      {apiKeys.revokeHelp}
    </DangerSection>
  )
}

type Props = { apiKey: ApiKey; tab: string; onTab: (tab: string) => void }

export const KeyDetail = ({ apiKey, tab, onTab }: Props) => {
  const active = stateOf(apiKey) !== 'revoked'
  const { tabs: words } = apiKeys
  const tabs = [
    { id: 'details', label: words.details, panel: <Facts apiKey={apiKey} /> },
    ...(active ? [{ id: 'edit', label: words.edit, panel: <EditKey key={apiKey.id} apiKey={apiKey} /> }] : []),
    { id: 'api', label: words.api, panel: <CodeBlock label="curl" code={curl('GET', `/keys/${apiKey.id}`)} /> },
  ]
  return (
    <div className="flex flex-col gap-6">
      <Tabs label={apiKeys.detailTabs} tabs={tabs} value={tab} onValue={onTab} />
      {active && <Revoke apiKey={apiKey} />}
    </div>
  )
}
