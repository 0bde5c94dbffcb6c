import { api, unwrap } from '../../../api/client.ts'
import type { components } from '../../../api/schema.gen.ts'
import { webhooks } from '../../../strings/webhooks.ts'
import { StatusDot, type Tone } from '../../../ui/badge.tsx'
import type { Resource } from '../../../ui/resource.ts'
import { timeColumn } from '../../../ui/time-column.tsx'
import { pageOf } from '../../../ui/use-pages.ts'

export type Endpoint = components['schemas']['Webhook']

export const endpointState = ({ enabled, disabled_reason, events }: Endpoint): { tone: Tone; word: string } => {
  const { state: words } = webhooks
  if (!enabled)
    return disabled_reason === 'auto' ? { tone: 'bad', word: words.auto } : { tone: 'neutral', word: words.manual }
  return events.length === 0 ? { tone: 'warn', word: words.paused } : { tone: 'ok', word: words.enabled }
}

export const endpoints: Resource<Endpoint> = {
  key: ['webhooks'],
  title: webhooks.title,
  titleOf: ({ url }) => url,
  gone: webhooks.gone,
  load: (cursor) => unwrap(api.GET('/api/internal/webhooks', { params: { query: pageOf(cursor, 100) } })),
  read: (id) => unwrap(api.GET('/api/internal/webhooks/{id}', { params: { path: { id } } })),
  columns: [
    { id: 'url', header: webhooks.columns.url, cell: ({ url }) => <span className="font-mono text-xs">{url}</span> },
    {
      id: 'state',
      header: webhooks.columns.state,
      cell: (endpoint) => {
        const { tone, word } = endpointState(endpoint)
        return <StatusDot tone={tone}>{word}</StatusDot>
      },
    },
    {
      id: 'events',
      header: webhooks.columns.events,
      className: 'hidden md:table-cell',
      cell: ({ events }) => (events.includes('*') ? webhooks.everyEvent : webhooks.someEvents(events.length)),
    },
    {
      id: 'failures',
      header: webhooks.columns.failures,
      className: 'hidden lg:table-cell',
      align: 'right',
      cell: ({ consecutive_failures }) => consecutive_failures,
    },
    timeColumn('created_at', webhooks.columns.created, { className: 'hidden sm:table-cell', align: 'right' }),
  ],
}
