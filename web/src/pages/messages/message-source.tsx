import { useQuery } from '@tanstack/react-query'
import { readOutboxEntry } from '../../api/dev-tools.ts'
import { messages } from '../../strings/messages.ts'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Pairs } from '../../ui/pairs.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import type { ShownMessage } from './message-data.ts'

type Email = Extract<ShownMessage, { channel: 'email' }>

const headersOf = ({ from, from_name, to, cc, reply_to, subject, headers }: Email): Record<string, string> => {
  const all = {
    From: from_name ? `${from_name} <${from}>` : from,
    To: to.join(', '),
    Cc: cc.join(', '),
    'Reply-To': reply_to.join(', '),
    Subject: subject ?? '',
    ...headers,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''))
}

/** Only the outbox of the local provider has it, outside production. */
const readSource = async ({ id }: Email): Promise<string | null> =>
  (await readOutboxEntry({ message_id: id }))?.raw ?? null

export const MessageSource = ({ message }: { message: Email }) => {
  const { data, isPending } = useQuery({
    queryKey: ['message-source', message.id],
    queryFn: () => readSource(message).catch(() => null),
    retry: false,
  })
  return (
    <div className="flex flex-col gap-5">
      <Pairs title={messages.ownHeaders} pairs={headersOf(message)} />
      <section>
        <h3 className="mb-1.5 font-medium text-sm">{messages.rawSource}</h3>
        {isPending && <Skeleton className="h-40 w-full" />}
        {!isPending && !data && <p className="text-muted text-sm">{messages.noSource}</p>}
        {data && <CodeBlock label={messages.rawSource} code={data} />}
      </section>
    </div>
  )
}
