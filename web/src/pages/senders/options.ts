/** What forms offer in lists of choices. */
import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.gen.ts'
import { everyRow, longPage } from '../../ui/every-row.ts'
import type { Option } from '../../ui/select.tsx'
import type { ListPage } from '../../ui/use-pages.ts'

type Schemas = components['schemas']

type Load = (page: ReturnType<typeof longPage>) => Promise<unknown>

const useChoices = <Row>(name: string, load: Load, show: (row: Row) => Option): Option[] => {
  const { data } = useQuery({
    queryKey: ['senders', name, 'choices'],
    queryFn: () => everyRow(async (cursor) => (await load(longPage(cursor))) as ListPage<Row>),
  })
  return data?.map(show) ?? []
}

const named = ({ id, name, status }: { id: string; name: string; status: string }): Option => ({
  value: id,
  label: `${name} (${status})`,
})

export const useBrandOptions = (): Option[] =>
  useChoices<Schemas['Brand']>(
    'brands',
    (page) => unwrap(api.GET('/api/internal/brands', page)),
    ({ id, display_name: name, status }) => named({ id, name, status }),
  )

export const useCampaignOptions = (): Option[] =>
  useChoices<Schemas['Campaign']>('campaigns', (page) => unwrap(api.GET('/api/internal/campaigns', page)), named)

export const useEntityOptions = (): Option[] =>
  useChoices<Schemas['DltEntity']>(
    'entities',
    (page) => unwrap(api.GET('/api/internal/dlt/entities', page)),
    ({ id, legal_name: name, status }) => named({ id, name, status }),
  )

export const useHeaderOptions = (): Option[] =>
  useChoices<Schemas['DltHeader']>(
    'headers',
    (page) => unwrap(api.GET('/api/internal/dlt/headers', page)),
    ({ id, header: name, status }) => named({ id, name, status }),
  )

export const useNumberOptions = (): Option[] =>
  useChoices<Schemas['PhoneNumber']>(
    'numbers',
    (page) => unwrap(api.GET('/api/internal/phone-numbers', page)),
    ({ id, e164, sender_id, status }) => named({ id, name: e164 ?? sender_id ?? id, status }),
  )
