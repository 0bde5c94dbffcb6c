import { api, unwrap } from '../../../api/client.ts'
import type { components, operations } from '../../../api/schema.gen.ts'
import { numbers } from '../../../strings/senders.ts'
import type { ListPage } from '../../../ui/use-pages.ts'
import type { FieldGroup, Values } from '../form-fields.tsx'
import { optionsOf, useCampaignOptions } from '../options.ts'
import type { SenderKind } from '../sender-kind.ts'
import { createdColumn, statusColumn } from '../sender-status.tsx'

type PhoneNumber = components['schemas']['PhoneNumber']
type NewNumber = operations['postApiInternalPhoneNumbers']['requestBody']['content']['application/json']

const nameOf = ({ e164, sender_id, id }: PhoneNumber): string => e164 ?? sender_id ?? id

/** A number needs a campaign, a sender id has a name instead. Later only the campaign of a number can change. */
const useGroups = () => {
  const options = useCampaignOptions()
  return ({ kind = 'number' }: Values): FieldGroup[] => [
    {
      title: numbers.sender,
      fields: [
        {
          name: 'kind',
          label: numbers.kind,
          kind: 'select',
          options: optionsOf(numbers.kinds),
          initial: 'number',
          required: true,
          fixed: true,
        },
        { name: 'iso_country', label: numbers.country, help: numbers.countryHelp, required: true, fixed: true },
        ...(kind === 'alphanumeric'
          ? [
              {
                name: 'sender_id',
                label: numbers.senderId,
                help: numbers.senderIdHelp,
                required: true,
                fixed: true,
              } as const,
            ]
          : [
              {
                name: 'type',
                label: numbers.type,
                kind: 'select',
                options: optionsOf(numbers.types),
                required: true,
                fixed: true,
              } as const,
              {
                name: 'campaign_id',
                label: numbers.campaign,
                help: numbers.campaignHelp,
                kind: 'select',
                options,
                required: true,
              } as const,
            ]),
      ],
    },
  ]
}

const path = '/api/internal/phone-numbers' as const
const byId = (id: string) => ({ params: { query: { id } } })

export const numberKind: SenderKind<PhoneNumber> = {
  key: 'numbers',
  title: numbers.title,
  create: numbers.create,
  gate: 'requireDeveloperSession',
  liveOnly: true,
  labelOf: nameOf,
  columns: [
    {
      id: 'sender',
      header: numbers.sender,
      className: 'font-mono',
      cell: ({ e164, sender_id }) => e164 ?? sender_id ?? numbers.waiting,
    },
    {
      id: 'kind',
      header: numbers.kind,
      className: 'hidden md:table-cell',
      cell: ({ kind }) => numbers.kinds[kind],
    },
    {
      id: 'type',
      header: numbers.type,
      className: 'hidden w-28 lg:table-cell',
      cell: ({ type }) => (type ? numbers.types[type] : '–'),
    },
    {
      id: 'country',
      header: numbers.country,
      className: 'hidden w-24 sm:table-cell',
      cell: ({ iso_country }) => iso_country,
    },
    statusColumn(),
    createdColumn(),
  ],
  facts: (row) => [
    { name: numbers.kind, value: numbers.kinds[row.kind] },
    { name: numbers.country, value: row.iso_country },
    { name: numbers.type, value: row.type && numbers.types[row.type] },
    { name: numbers.campaign, value: row.campaign_id },
    { name: numbers.capabilities, value: row.capabilities.join(', ') },
  ],
  load: async (cursor, environment) => {
    const query = { limit: '50', environment, ...(cursor && { cursor }) }
    return (await unwrap(api.GET(path, { params: { query } }))) as ListPage<PhoneNumber>
  },
  read: async (id) => (await unwrap(api.GET(path, byId(id)))) as PhoneNumber,
  add: (body) => unwrap(api.POST(path, { body: body as NewNumber })),
  change: (id, body) => unwrap(api.PATCH(path, { ...byId(id), body: body as never })),
  canChange: ({ kind }) => kind === 'number',
  remove: (id) => unwrap(api.DELETE(path, byId(id))),
  deleteHelp: numbers.delete,
  useGroups,
  empty: { title: numbers.empty, help: numbers.emptyHelp },
}
