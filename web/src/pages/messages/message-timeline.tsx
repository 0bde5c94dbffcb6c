import { messages } from '../../strings/messages.ts'
import { Timeline, type TimelineEntry } from '../../ui/timeline.tsx'
import { type ShownMessage, tones } from './message-data.ts'

const entriesOf = ({ status_history, events }: ShownMessage): TimelineEntry[] => {
  const statuses = status_history.map(({ status, at, recipient, detail }, index) => ({
    key: `status-${index}`,
    at,
    title: messages.statuses[status],
    tone: tones[status],
    children: [recipient, detail].filter(Boolean).join(': '),
  }))
  // The log of events repeats the statuses, with less detail.
  const happened = events
    .filter(({ kind }) => !(kind in messages.statuses))
    .map(({ id, kind, at, recipient, url }) => ({
      key: id,
      at,
      title: kind.charAt(0).toUpperCase() + kind.slice(1).replaceAll('_', ' '),
      tone: 'info' as const,
      children: [recipient, url].filter(Boolean).join(': '),
    }))
  return [...statuses, ...happened].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
}

/** Statuses, and what recipients did: opens, clicks and unsubscribes. */
export const MessageTimeline = ({ message }: { message: ShownMessage }) => (
  <Timeline label={messages.tabs.timeline} entries={entriesOf(message)} />
)
