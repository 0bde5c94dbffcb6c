import { MailFrame } from '../../mail/mail-frame.tsx'
import { messages } from '../../strings/messages.ts'
import { StatusDot } from '../../ui/badge.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Copyable } from '../../ui/copy-button.tsx'
import { curl } from '../../ui/curl.ts'
import { ErrorNote } from '../../ui/error-note.tsx'
import { PlainText } from '../../ui/plain-text.tsx'
import { Bar, Loading } from '../../ui/skeleton.tsx'
import { type Tab, Tabs } from '../../ui/tabs.tsx'
import { MessageActions } from './message-actions.tsx'
import { type ShownMessage, subjectText, tones, useMessage } from './message-data.ts'
import { MessageDeliveries } from './message-deliveries.tsx'
import { MessageFacts } from './message-facts.tsx'
import { MessageSource } from './message-source.tsx'
import { MessageTimeline } from './message-timeline.tsx'

type Props = { id: string; tab: string; onTab: (tab: string) => void; onOpen: (id: string) => void }

const Note = ({ children }: { children: string }) => <p className="text-muted text-sm">{children}</p>

const Preview = ({ message }: { message: ShownMessage }) => {
  if (message.redacted_at !== null) return <Note>{messages.noBody}</Note>
  if (message.channel === 'sms') return <PlainText text={message.body ?? ''} />
  if (message.html) return <MailFrame of={message.id} html={message.html} title={messages.bodyTitle} />
  return message.text ? <PlainText text={message.text} /> : <Note>{messages.noHtml}</Note>
}

const tabsOf = (message: ShownMessage): Tab[] => {
  const { tabs: words } = messages
  const path = message.channel === 'email' ? `/emails/${message.id}?include=body` : `/sms/${message.id}`
  const text: Tab[] =
    message.channel === 'email' && message.html
      ? [
          {
            id: 'text',
            label: words.text,
            panel: message.text ? <PlainText text={message.text} /> : <Note>{messages.noText}</Note>,
          },
        ]
      : []
  return [
    { id: 'preview', label: words.preview, panel: <Preview message={message} /> },
    ...text,
    { id: 'timeline', label: words.timeline, panel: <MessageTimeline message={message} /> },
    { id: 'webhooks', label: words.webhooks, panel: <MessageDeliveries id={message.id} /> },
    { id: 'details', label: words.details, panel: <MessageFacts message={message} /> },
    ...(message.channel === 'email'
      ? [{ id: 'source', label: words.source, panel: <MessageSource message={message} /> }]
      : []),
    { id: 'api', label: words.api, panel: <CodeBlock label="curl" code={curl('GET', path)} /> },
  ]
}

const DetailSkeleton = () => (
  <Loading className="flex flex-col gap-3">
    <Bar className="h-6 w-2/3" />
    <Bar className="h-4 w-1/3" />
    <Bar className="mt-4 h-64 w-full" />
  </Loading>
)

export const MessageDetail = ({ id, tab, onTab, onOpen }: Props) => {
  const { data: message, error } = useMessage(id)
  if (!message) return error ? <ErrorNote error={error} /> : <DetailSkeleton />
  const tabs = tabsOf(message)
  const shown = tabs.some((one) => one.id === tab) ? tab : 'preview'
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-col gap-1.5">
        <h2 className="break-words font-semibold text-md">
          {subjectText(message) ?? messages.channels[message.channel]}
        </h2>
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <StatusDot tone={tones[message.status]}>{messages.statuses[message.status]}</StatusDot>
          <Copyable text={message.id} />
        </div>
      </div>
      {message.error_message && (
        <p role="alert" className="rounded-md border border-bad/40 bg-bad-soft px-3 py-2 text-sm">
          {message.error_message}
        </p>
      )}
      <MessageActions message={message} onOpen={onOpen} />
      <Tabs label={messages.tabsLabel} tabs={tabs} value={shown} onValue={onTab} />
    </div>
  )
}
