import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { Deliveries } from '../../../parts/deliveries.tsx'
import { ui } from '../../../strings/ui.ts'
import { webhooks } from '../../../strings/webhooks.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { curl } from '../../../ui/curl.ts'
import { Tabs } from '../../../ui/tabs.tsx'
import { useSave } from '../../../ui/use-save.ts'
import { EndpointDangers } from './endpoint-dangers.tsx'
import { EndpointForm, type EndpointValues, endpointBody } from './endpoint-form.tsx'
import { TestFire } from './test-fire.tsx'
import { type Endpoint, endpointState } from './webhook-data.tsx'

const valuesOf = ({ url, description, events, enabled, tenant_id }: Endpoint): EndpointValues => ({
  url,
  description: description ?? '',
  all: events.includes('*'),
  events: events.filter((name) => name !== '*'),
  enabled,
  tenant: tenant_id ?? '',
})

const Settings = ({ endpoint, onRemoved }: { endpoint: Endpoint; onRemoved: () => void }) => {
  const [values, setValues] = useState(() => valuesOf(endpoint))
  const form = useSave(
    () => {
      const params = { path: { id: endpoint.id } }
      return unwrap(api.PATCH('/api/internal/webhooks/{id}', { params, body: endpointBody(values) }))
    },
    { message: ui.saved, refreshes: [['webhooks']] },
  )
  return (
    <div className="flex flex-col gap-8">
      <EndpointForm
        editing
        values={values}
        onChange={(part) => setValues((now) => ({ ...now, ...part }))}
        form={form}
        onSubmit={form.save}
      />
      <EndpointDangers endpoint={endpoint} onRemoved={onRemoved} />
    </div>
  )
}

type Props = { endpoint: Endpoint; tab: string; onTab: (tab: string) => void; onRemoved: () => void }

export const EndpointDetail = ({ endpoint, tab, onTab, onRemoved }: Props) => {
  const { tabs: words } = webhooks
  const { tone, word } = endpointState(endpoint)
  const tabs = [
    { id: 'deliveries', label: words.deliveries, panel: <Deliveries endpointId={endpoint.id} /> },
    {
      id: 'settings',
      label: words.settings,
      panel: <Settings key={endpoint.id} endpoint={endpoint} onRemoved={onRemoved} />,
    },
    { id: 'test', label: words.test, panel: <TestFire endpointId={endpoint.id} /> },
    { id: 'api', label: words.api, panel: <CodeBlock label="curl" code={curl('GET', `/webhooks/${endpoint.id}`)} /> },
  ]
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <StatusDot tone={tone}>{word}</StatusDot>
        <Copyable text={endpoint.id} />
      </div>
      {endpoint.description && <p className="text-muted text-sm">{endpoint.description}</p>}
      {endpoint.disabled_reason === 'auto' && (
        <p role="alert" className="rounded-md border border-bad/40 bg-bad-soft px-3 py-2 text-sm">
          {webhooks.disabledAuto}
        </p>
      )}
      <Tabs label={webhooks.tabsLabel} tabs={tabs} value={tab} onValue={onTab} />
    </div>
  )
}
