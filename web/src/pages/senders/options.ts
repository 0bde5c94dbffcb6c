/** What forms offer in lists of choices. */
import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.gen.ts'
import type { Option } from '../../ui/select.tsx'
import type { ListPage } from '../../ui/use-pages.ts'

type Schemas = components['schemas']

export const optionsOf = (labels: Record<string, string>): Option[] =>
  Object.entries(labels).map(([value, label]) => ({ value, label }))

/** The first hundred are enough for a list of choices. */
const first = { params: { query: { limit: '100' } } }

const useChoices = <Row>(name: string, load: () => Promise<unknown>, show: (row: Row) => Option): Option[] => {
  const { data } = useQuery({
    queryKey: ['senders', name, 'choices'],
    queryFn: async () => (await load()) as ListPage<Row>,
  })
  return data?.data.map(show) ?? []
}

const named = ({ id, name, status }: { id: string; name: string; status: string }): Option => ({
  value: id,
  label: `${name} (${status})`,
})

export const useBrandOptions = (): Option[] =>
  useChoices<Schemas['Brand']>(
    'brands',
    () => unwrap(api.GET('/api/internal/brands', first)),
    ({ id, display_name: name, status }) => named({ id, name, status }),
  )

export const useCampaignOptions = (): Option[] =>
  useChoices<Schemas['Campaign']>('campaigns', () => unwrap(api.GET('/api/internal/campaigns', first)), named)

export const useEntityOptions = (): Option[] =>
  useChoices<Schemas['DltEntity']>(
    'entities',
    () => unwrap(api.GET('/api/internal/dlt/entities', first)),
    ({ id, legal_name: name, status }) => named({ id, name, status }),
  )

export const useHeaderOptions = (): Option[] =>
  useChoices<Schemas['DltHeader']>(
    'headers',
    () => unwrap(api.GET('/api/internal/dlt/headers', first)),
    ({ id, header: name, status }) => named({ id, name, status }),
  )

export const useNumberOptions = (): Option[] =>
  useChoices<Schemas['PhoneNumber']>(
    'numbers',
    () => unwrap(api.GET('/api/internal/phone-numbers', first)),
    ({ id, e164, sender_id, status }) => named({ id, name: e164 ?? sender_id ?? id, status }),
  )
