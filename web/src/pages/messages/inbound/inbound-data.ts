import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import type { Tone } from '../../../ui/badge.tsx'
import { type ListPage, pageOf, usePages } from '../../../ui/use-pages.ts'
import type { Responses } from '../message-data.ts'

type Listed = Responses<'/api/internal/inbound-sms'> | Responses<'/api/internal/inbound-emails'>
export type Inbound = Listed['data'][number]
/** With what only the detail shows. */
export type InboundOne = Responses<'/api/internal/inbound/{id}'>
export type InboundFilters = { channel: string; from: string; kind: string }

export const kindTones: Record<Inbound['kind'], Tone> = { reply: 'info', opt_out: 'warn', help: 'neutral' }

/** Asks again every few seconds while the page is visible. Pages are small because they have whole mails. */
export const useInboundList = ({ channel, from, kind }: InboundFilters) =>
  usePages(
    ['inbound', channel, from, kind],
    async (cursor): Promise<ListPage<Inbound>> => {
      const query = {
        ...pageOf(cursor, 25),
        ...(from && { from }),
        ...(kind && { kind: kind as Inbound['kind'] }),
      }
      return channel === 'sms'
        ? unwrap(api.GET('/api/internal/inbound-sms', { params: { query } }))
        : unwrap(api.GET('/api/internal/inbound-emails', { params: { query } }))
    },
    { refetchInterval: 10_000 },
  )

export const useInbound = (id: string) =>
  useQuery({
    queryKey: ['inbound-message', id],
    queryFn: () => unwrap(api.GET('/api/internal/inbound/{id}', { params: { path: { id } } })),
  })
