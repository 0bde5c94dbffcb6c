import { ArrowLeft, RotateCw } from 'lucide-react'
import type { ReactNode } from 'react'
import { api, unwrap } from '../api/client.ts'
import { webhooks } from '../strings/webhooks.ts'
import { StatusDot } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { CodeBlock } from '../ui/code-block.tsx'
import { Copyable } from '../ui/copy-button.tsx'
import { DetailList, type Fact } from '../ui/detail-list.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Pairs } from '../ui/pairs.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { useOpened } from '../ui/resource.ts'
import { OpenedDetail } from '../ui/resource-list.tsx'
import { optionsOf, Select } from '../ui/select.tsx'
import type { Column } from '../ui/table.tsx'
import { timeColumn } from '../ui/time-column.tsx'
import { Timeline } from '../ui/timeline.tsx'
import { toastError } from '../ui/toasts.tsx'
import { useFilters } from '../ui/use-filters.ts'
import { useSave } from '../ui/use-save.ts'
import { type Delivery, type DeliveryDetail, deliveryById, deliveryTones, useDeliveries } from './delivery-data.ts'

const words = webhooks.deliveries

const columns: Column<Delivery>[] = [
  { id: 'event', header: words.columns.event, cell: ({ event }) => <span className="font-mono text-xs">{event}</span> },
  {
    id: 'status',
    header: words.columns.status,
    cell: ({ status }) => <StatusDot tone={deliveryTones[status]}>{words.statuses[status]}</StatusDot>,
  },
  {
    id: 'attempts',
    header: words.columns.attempts,
    className: 'hidden sm:table-cell',
    align: 'right',
    cell: ({ attempt_count, max_attempts }) => `${attempt_count} / ${max_attempts}`,
  },
  timeColumn('created_at', words.columns.created, { align: 'right' }),
]

type Attempt = Delivery['attempts'][number]

const Attempts = ({ attempts }: { attempts: readonly Attempt[] }) => (
  <Timeline
    label={words.attempts}
    entries={attempts.map(({ attempt, at, response_status, response_body, duration_ms, error }) => ({
      key: String(attempt),
      at,
      tone: response_status !== null && response_status >= 200 && response_status < 300 ? 'ok' : 'bad',
      title: `${words.attempt(attempt)}: ${error ? words.noAnswer[error] : response_status}`,
      children: (
        <>
          {words.took(duration_ms)}
          {response_body && <pre className="mt-1 whitespace-pre-wrap break-all font-mono text-xs">{response_body}</pre>}
        </>
      ),
    }))}
  />
)

const Replay = ({ delivery, onReplayed }: { delivery: Delivery; onReplayed: (id: string) => void }) => {
  const { save, busy } = useSave(
    () => unwrap(api.POST('/api/internal/webhook-deliveries/{id}/replay', { params: { path: { id: delivery.id } } })),
    {
      message: words.replayed,
      done: ({ delivery_id }) => onReplayed(delivery_id),
      refreshes: [['webhook-deliveries']],
      failed: toastError,
    },
  )
  return (
    <Button
      gate="requireDeveloperSession"
      busy={busy}
      reason={delivery.status === 'pending' ? words.pendingReason : undefined}
      icon={<RotateCw aria-hidden className="size-3.5" />}
      onClick={() => save()}
    >
      {words.replay}
    </Button>
  )
}

const factsOf = (delivery: DeliveryDetail): Fact[] => [
  { name: words.columns.event, value: <code>{delivery.event}</code> },
  {
    name: words.columns.status,
    value: <StatusDot tone={deliveryTones[delivery.status]}>{words.statuses[delivery.status]}</StatusDot>,
  },
  ...(delivery.message_id
    ? [
        {
          name: words.message,
          value: (
            <a href={`/messages?open=${delivery.message_id}`} className="font-mono text-xs underline">
              {delivery.message_id}
            </a>
          ),
        },
      ]
    : []),
  { name: 'Id', value: <Copyable text={delivery.id} /> },
  { name: words.endpoint, value: <Copyable text={delivery.endpoint_id} /> },
  { name: words.columns.created, value: <RelativeTime at={delivery.created_at} /> },
  ...(delivery.next_attempt_at
    ? [{ name: words.next, value: <RelativeTime due at={delivery.next_attempt_at} /> }]
    : []),
  ...(delivery.replay_of ? [{ name: words.replayOf, value: <Copyable text={delivery.replay_of} /> }] : []),
  ...(delivery.replayed_as ? [{ name: words.replayedAs, value: <Copyable text={delivery.replayed_as} /> }] : []),
]

/** The request as an endpoint gets it. */
const Sent = ({ headers, payload }: Pick<DeliveryDetail, 'headers' | 'payload'>) => {
  const shown = Object.entries(headers).map(([name, value]) => [name, value ?? words.ofAttempt])
  return (
    <>
      <Pairs title={words.headers} pairs={Object.fromEntries(shown)} />
      <section>
        <h3 className="mb-1.5 font-medium text-sm">{words.payload}</h3>
        <CodeBlock label={words.payload} code={JSON.stringify(payload, null, 2)} />
      </section>
    </>
  )
}

const OpenDelivery = ({ id, onOpen }: { id: string; onOpen: (id: string) => void }) => {
  const opened = useOpened(deliveryById, id)
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Button look="quiet" icon={<ArrowLeft aria-hidden className="size-3.5" />} onClick={() => onOpen('')}>
          {words.back}
        </Button>
        {opened.row && <Replay delivery={opened.row} onReplayed={onOpen} />}
      </div>
      <OpenedDetail opened={opened} goneText={words.gone}>
        {(delivery) => (
          <>
            <DetailList facts={factsOf(delivery)} />
            <Attempts attempts={delivery.attempts} />
            <Sent headers={delivery.headers} payload={delivery.payload} />
          </>
        )}
      </OpenedDetail>
    </div>
  )
}

type BrowserProps = {
  list: ReturnType<typeof useDeliveries>
  /** The delivery that is open. */
  opened: string
  onOpen: (id: string) => void
  /** Above the list. */
  filters?: ReactNode
  emptyHelp: string
}

/** A list of deliveries, and one of them with its attempts and what was sent. */
export const DeliveryBrowser = ({ list, opened, onOpen, filters, emptyHelp }: BrowserProps) => {
  if (opened !== '') return <OpenDelivery key={opened} id={opened} onOpen={onOpen} />
  return (
    <div className="flex flex-col gap-3">
      {filters}
      <ListTable
        label={words.title}
        list={list}
        columns={columns}
        onOpen={({ id }) => onOpen(id)}
        empty={<EmptyState title={words.empty}>{emptyHelp}</EmptyState>}
      />
    </div>
  )
}

export const Deliveries = ({ endpointId }: { endpointId: string }) => {
  const [{ status, delivery }, change] = useFilters({ status: '', delivery: '' })
  return (
    <DeliveryBrowser
      list={useDeliveries(endpointId, status)}
      opened={delivery}
      onOpen={(id) => change({ delivery: id })}
      emptyHelp={words.emptyHelp}
      filters={
        <Select
          aria-label={words.status}
          value={status}
          onValue={(value) => change({ status: value })}
          options={[{ value: '', label: words.every }, ...optionsOf(words.statuses)]}
        />
      }
    />
  )
}
