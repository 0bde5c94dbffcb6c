import { messages } from '../../strings/messages.ts'
import { Badge } from '../../ui/badge.tsx'
import { Copyable } from '../../ui/copy-button.tsx'
import { DetailList, type Fact } from '../../ui/detail-list.tsx'
import { Pairs } from '../../ui/pairs.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import type { ShownMessage } from './message-data.ts'

const words = messages.facts

const addresses = (list: readonly string[]) => (list.length > 0 ? list.join(', ') : undefined)
const idOf = (id: string | null) => (id ? <Copyable text={id} /> : undefined)

const recipientsOf = (message: ShownMessage): Fact[] =>
  message.channel === 'sms'
    ? [
        { name: words.from, value: message.from },
        { name: words.to, value: message.to ?? messages.erased },
        { name: words.segments, value: message.segments },
      ]
    : [
        { name: words.from, value: message.from_name ? `${message.from_name} <${message.from}>` : message.from },
        { name: words.to, value: addresses(message.to) ?? messages.erased },
        { name: words.cc, value: addresses(message.cc) },
        { name: words.bcc, value: addresses(message.bcc) },
        { name: words.replyTo, value: addresses(message.reply_to) },
        { name: words.stream, value: message.stream },
      ]

const reportOf = ({ provider_response: report }: ShownMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(report ?? {}).filter((pair): pair is [string, string] => pair[1] !== null))

export const MessageFacts = ({ message }: { message: ShownMessage }) => (
  <div className="flex flex-col gap-5">
    <DetailList
      facts={[
        ...recipientsOf(message),
        { name: words.created, value: <RelativeTime at={message.created_at} /> },
        { name: words.scheduled, value: <RelativeTime due at={message.scheduled_at} /> },
        { name: words.sent, value: <RelativeTime at={message.sent_at} /> },
        { name: words.delivered, value: <RelativeTime at={message.delivered_at} /> },
        { name: words.provider, value: message.provider },
        { name: words.key, value: idOf(message.key_id) },
        { name: words.job, value: idOf(message.job_id) },
        { name: words.tenant, value: idOf(message.tenant_id) },
        {
          name: words.tags,
          value:
            message.tags.length === 0 ? undefined : (
              <span className="flex flex-wrap gap-1">
                {message.tags.map((tag) => (
                  <Badge key={tag}>{tag}</Badge>
                ))}
              </span>
            ),
        },
      ]}
    />
    {message.channel === 'email' && (
      <Pairs
        title={messages.attachments}
        pairs={Object.fromEntries(message.attachments.map(({ filename, content_type }) => [filename, content_type]))}
      />
    )}
    <Pairs title={messages.metadata} pairs={message.metadata} />
    <Pairs title={messages.report} pairs={reportOf(message)} />
  </div>
)
