import { events } from '../../../strings/events.ts'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { curl } from '../../../ui/curl.ts'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { sampleOf, useApiDescription } from '../api-description.ts'
import { FieldList } from '../field-list.tsx'
import { type EventName, meaningOf } from '../webhooks/event-list.ts'

const exampleEndpoint = 'whe_01k5w3v8q6e9rbx2t7m4n0c1yz'

const Requests = ({ name }: { name: EventName }) => (
  <div className="flex flex-col gap-4">
    <section>
      <h3 className="mb-2 font-semibold text-sm">{events.subscribe}</h3>
      <CodeBlock
        label={events.subscribe}
        code={curl('POST', '/webhooks', { url: 'https://example.com/hooks', events: [name] })}
      />
    </section>
    <section>
      <h3 className="mb-2 font-semibold text-sm">{events.try}</h3>
      <CodeBlock label={events.try} code={curl('POST', `/webhooks/${exampleEndpoint}/test-fire`, { event: name })} />
    </section>
  </div>
)

type Props = { name: EventName; tab: string; onTab: (tab: string) => void }

export const EventDetail = ({ name, tab, onTab }: Props) => {
  const { data, error } = useApiDescription()
  if (error) return <ErrorNote error={error} />
  if (!data) return <Skeleton className="h-64 w-full" />
  const sample = sampleOf(data, name)
  const tabs = [
    {
      id: 'payload',
      label: events.tabs.payload,
      panel: <CodeBlock label={events.payload} code={JSON.stringify(sample?.payload, null, 2) ?? events.missing} />,
    },
    {
      id: 'fields',
      label: events.tabs.fields,
      panel: <FieldList label={events.fields} fields={sample?.fields ?? []} />,
    },
    { id: 'api', label: events.tabs.api, panel: <Requests name={name} /> },
  ]
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm">{meaningOf(name)}</p>
      <Tabs label={events.tabsLabel} tabs={tabs} value={tab} onValue={onTab} />
    </div>
  )
}
