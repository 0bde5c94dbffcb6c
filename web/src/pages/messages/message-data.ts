import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../api/client.ts'
import type { Mode } from '../../api/mode.ts'
import type { paths } from '../../api/schema.gen.ts'
import { serviceNow } from '../../api/service-time.ts'
import { messages } from '../../strings/messages.ts'
import type { Tone } from '../../ui/badge.tsx'
import { pageOf, usePages } from '../../ui/use-pages.ts'

export type Responses<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { 'application/json': infer B } } } }
}
  ? B
  : never

export type ListedMessage = Responses<'/api/internal/messages'>['data'][number]
export type ShownMessage = Responses<'/api/internal/messages/{id}'>
export type MessageStatus = ListedMessage['status']

export const tones: Record<MessageStatus, Tone> = {
  scheduled: 'info',
  sending: 'info',
  sent: 'info',
  delivered: 'ok',
  bounced: 'bad',
  failed: 'bad',
  canceled: 'neutral',
}

export type MessageFilters = { q: string; channel: string; status: string; since: string; job: string }

export const noFilters: MessageFilters = { q: '', channel: '', status: '', since: '', job: '' }

const hourMs = 3_600_000
const afterOf = (since: string): string => new Date(serviceNow() - Number(since) * hourMs).toISOString()

/** Asks again every few seconds while the page is visible. */
export const useMessages = (environment: Mode, { q, channel, status, since, job }: MessageFilters) =>
  usePages(
    ['messages', environment, q, channel, status, since, job],
    (cursor) =>
      unwrap(
        api.GET('/api/internal/messages', {
          params: {
            query: {
              environment,
              ...pageOf(cursor, 100),
              ...(q && { q }),
              ...(channel && { channel: channel as ListedMessage['channel'] }),
              ...(status && { status: status as MessageStatus }),
              ...(job && { job_id: job }),
              ...(since && { created_after: afterOf(since) }),
            },
          },
        }),
      ),
    { refetchInterval: 5_000 },
  )

const moving: readonly MessageStatus[] = ['scheduled', 'sending', 'sent']

/** A message on its way is read again every two seconds, others every ten: opens and clicks arrive later. */
export const useMessage = (id: string) =>
  useQuery({
    queryKey: ['message', id],
    // The client loses fields that are always null, such as the subject of an SMS, from the type.
    queryFn: () =>
      unwrap(api.GET('/api/internal/messages/{id}', { params: { path: { id } } })) as Promise<ShownMessage>,
    refetchInterval: ({ state: { data, error } }) => {
      if (error) return false
      return data && moving.includes(data.status) ? 2_000 : 10_000
    },
  })

/** The subject of a message, or those that it can get while the best one of its job is not chosen. */
export const subjectText = ({
  subject,
  possible_subjects: possible,
}: {
  subject: string | null
  possible_subjects?: string[]
}): string | undefined => subject ?? (possible && messages.oneOf(possible))
