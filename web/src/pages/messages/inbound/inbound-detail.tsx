import { Link } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { useCallback } from 'react'
import { MailFrame } from '../../../mail/mail-frame.tsx'
import type { LoadPictures } from '../../../mail/use-clean-mail.ts'
import { inbound } from '../../../strings/inbound.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { buttonClasses } from '../../../ui/button.tsx'
import { byteSize } from '../../../ui/byte-size.ts'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { curl } from '../../../ui/curl.ts'
import { DetailList, type Fact } from '../../../ui/detail-list.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { PlainText } from '../../../ui/plain-text.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { type Tab, Tabs } from '../../../ui/tabs.tsx'
import { type InboundOne, kindTones, useInbound } from './inbound-data.ts'
import { loadPictures } from './load-pictures.ts'

const words = inbound.facts

type Email = Extract<InboundOne, { channel: 'email' }>
type Sms = Extract<InboundOne, { channel: 'sms' }>

const Attachments = ({ attachments }: Pick<Email, 'attachments'>) =>
  attachments.length === 0 ? null : (
    <section>
      <h3 className="mb-1.5 font-medium text-sm">{inbound.attachments}</h3>
      <ul className="rounded-md border">
        {attachments.map(({ filename, content_type, size, url }, index) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: two attachments can have the same name
            key={index}
            className="flex items-center justify-between gap-3 border-b px-3 py-1.5 text-sm last:border-b-0"
          >
            <span className="min-w-0 truncate">{filename ?? inbound.noName}</span>
            <span className="flex shrink-0 items-center gap-3 text-muted text-xs">
              {content_type}, {byteSize(size)}
              {url && (
                <a
                  href={url}
                  download
                  aria-label={filename ?? inbound.noName}
                  className={buttonClasses('quiet', 'small')}
                >
                  <Download aria-hidden className="size-3.5" />
                </a>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )

const Media = ({ media_url }: Pick<Sms, 'media_url'>) =>
  media_url.length === 0 ? null : (
    <section>
      <h3 className="mb-1.5 font-medium text-sm">{inbound.media}</h3>
      {media_url.map((url) => (
        <div key={url}>
          <Copyable text={url} />
        </div>
      ))}
    </section>
  )

const Html = ({ id, attachments, html }: Pick<Email, 'id' | 'attachments'> & { html: string }) => {
  const load: LoadPictures = useCallback(
    (wanted, signal) => loadPictures({ id, attachments }, wanted, signal),
    [id, attachments],
  )
  return <MailFrame of={id} html={html} title={inbound.bodyTitle} loadPictures={load} />
}

const Content = ({ message }: { message: InboundOne }) => {
  const text = message.channel === 'sms' ? message.body : message.text
  const email = message.channel === 'email' && message.html ? { ...message, html: message.html } : undefined
  return (
    <div className="flex flex-col gap-5">
      {email && <Html {...email} />}
      {!email && (text ? <PlainText text={text} /> : <p className="text-muted text-sm">{inbound.noContent}</p>)}
      {message.channel === 'email' ? <Attachments {...message} /> : <Media {...message} />}
    </div>
  )
}

const factsOf = (message: InboundOne): Fact[] => [
  { name: words.from, value: <Copyable text={message.from} /> },
  { name: words.to, value: [message.to].flat().join(', ') },
  { name: words.kind, value: inbound.kinds[message.kind] },
  ...(message.channel === 'sms' ? [{ name: words.keyword, value: message.keyword }] : []),
  { name: words.inReplyTo, value: message.in_reply_to },
  { name: words.tenant, value: message.tenant_id ? <Copyable text={message.tenant_id} /> : undefined },
  { name: words.received, value: <RelativeTime at={message.received_at} /> },
  { name: words.stored, value: <RelativeTime at={message.created_at} /> },
]

const tabsOf = (message: InboundOne): Tab[] => [
  { id: 'content', label: inbound.tabs.content, panel: <Content message={message} /> },
  ...(message.channel === 'email' && message.html && message.text
    ? [{ id: 'text', label: inbound.tabs.text, panel: <PlainText text={message.text} /> }]
    : []),
  { id: 'details', label: inbound.tabs.details, panel: <DetailList facts={factsOf(message)} /> },
  {
    id: 'api',
    label: inbound.tabs.api,
    panel: <CodeBlock label="curl" code={curl('GET', `/inbound/${message.id}`)} />,
  },
]

type Props = { id: string; tab: string; onTab: (tab: string) => void }

export const InboundDetail = ({ id, tab, onTab }: Props) => {
  const { data: message, error } = useInbound(id)
  if (!message) return error ? <ErrorNote error={error} /> : <Skeleton className="h-64 w-full" />
  const tabs = tabsOf(message)
  const title = message.channel === 'email' ? message.subject : null
  // The id of a message of ours. An email names the id of a mail, which may be anybody's.
  const answered = /^msg_\w+$/.test(message.in_reply_to ?? '') ? message.in_reply_to : null
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-col gap-1.5">
        <h2 className="break-words font-semibold text-md">{title ?? message.from}</h2>
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <StatusDot tone={kindTones[message.kind]}>{inbound.kinds[message.kind]}</StatusDot>
          <Copyable text={message.id} />
        </div>
      </div>
      {answered && (
        <div>
          <Link to={'/messages'} search={{ open: answered }} className={buttonClasses()}>
            {inbound.openAnswered}
          </Link>
        </div>
      )}
      <Tabs
        label={inbound.tabsLabel}
        tabs={tabs}
        value={tabs.some((one) => one.id === tab) ? tab : 'content'}
        onValue={onTab}
      />
    </div>
  )
}
