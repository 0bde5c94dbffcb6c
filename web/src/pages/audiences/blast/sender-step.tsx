import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import type { components } from '../../../api/schema.gen.ts'
import { blasts } from '../../../strings/blasts.ts'
import { everyRow, longPage } from '../../../ui/every-row.ts'
import { SelectField, TextField } from '../../../ui/text-field.tsx'
import type { ListPage } from '../../../ui/use-pages.ts'
import type { StepProps } from './blast-steps.ts'

type Schemas = components['schemas']

const readNumbers = (cursor: string | undefined) =>
  unwrap(api.GET('/api/internal/phone-numbers', longPage(cursor))) as Promise<ListPage<Schemas['PhoneNumber']>>

const readDlt = (cursor: string | undefined) =>
  unwrap(api.GET('/api/internal/dlt/templates', longPage(cursor))) as Promise<ListPage<Schemas['DltTemplate']>>

/** Senders that a send can use: addresses of verified domains, or verified numbers and sender ids. */
const useSenders = (channel: 'email' | 'sms') =>
  useQuery({
    queryKey: ['blast', 'senders', channel],
    queryFn: async () => {
      if (channel === 'email') {
        const rows = await everyRow((cursor) => unwrap(api.GET('/api/internal/domains', longPage(cursor))))
        return rows.filter(({ status }) => status === 'verified').map(({ name }) => `hello@${name}`)
      }
      return (await everyRow(readNumbers))
        .filter(({ status }) => status === 'verified')
        .flatMap(({ e164, sender_id }) => e164 ?? sender_id ?? [])
    },
  })

const useApprovedDlt = (enabled: boolean) =>
  useQuery({
    queryKey: ['blast', 'dlt'],
    enabled,
    queryFn: async () => (await everyRow(readDlt)).filter(({ status }) => status === 'approved'),
  })

const NoSender = ({ sms }: { sms: boolean }) => (
  <p className="text-sm text-warn">
    {sms ? blasts.noNumber : blasts.noDomain}{' '}
    <a href={sms ? '/senders/numbers' : '/domains'} className="underline">
      {sms ? blasts.addNumber : blasts.addDomain}
    </a>
  </p>
)

export const SenderStep = ({ blast, change }: StepProps) => {
  const list = useId()
  const sms = blast.channel === 'sms'
  const { data: senders } = useSenders(blast.channel)
  const { data: templates = [] } = useApprovedDlt(sms)
  return (
    <>
      <TextField
        label={blasts.from}
        help={sms ? blasts.fromSmsHelp : blasts.fromEmailHelp}
        list={list}
        value={blast.from}
        maxLength={1_000}
        autoComplete="off"
        onText={(text) => change({ from: text })}
      />
      <datalist id={list}>
        {senders?.map((sender) => (
          <option key={sender} value={sender} />
        ))}
      </datalist>
      {senders?.length === 0 && <NoSender sms={sms} />}
      {sms && templates.length > 0 && (
        <SelectField
          label={blasts.dlt}
          help={blasts.dltHelp}
          optional
          value={blast.dlt}
          onValue={(dlt) => change({ dlt })}
          options={[
            { value: '', label: blasts.noDlt },
            ...templates.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
      )}
    </>
  )
}
