import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { compose } from '../../../strings/compose.ts'
import { everyRow, longPage } from '../../../ui/every-row.ts'
import { Field } from '../../../ui/field.tsx'
import { Input, TextArea } from '../../../ui/input.tsx'
import type { Faults, MessageDraft } from './message-draft.ts'

export type FieldsProps = { draft: MessageDraft; change: (part: Partial<MessageDraft>) => void; faults: Faults }

const useVerifiedDomains = (): string[] => {
  const { data } = useQuery({
    queryKey: ['domains', 'verified'],
    queryFn: () => everyRow((cursor) => unwrap(api.GET('/api/internal/domains', longPage(cursor)))),
    staleTime: 60_000,
  })
  return data?.filter(({ status }) => status === 'verified').map(({ name }) => name) ?? []
}

export const EmailAddresses = ({ draft, change, faults }: FieldsProps) => {
  const domains = useVerifiedDomains()
  const fromHelp = domains.length > 0 ? compose.fromDomains(domains.slice(0, 5).join(', ')) : compose.fromHelp.email
  return (
    <>
      <Field label={compose.from} help={fromHelp} error={faults.of('from')}>
        <Input value={draft.from} onChange={(event) => change({ from: event.target.value })} />
      </Field>
      <Field label={compose.to} help={compose.toHelp.email} error={faults.of('to')}>
        <Input value={draft.to} onChange={(event) => change({ to: event.target.value })} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-3">
        <Field label={compose.cc} optional error={faults.of('cc')}>
          <Input value={draft.cc} onChange={(event) => change({ cc: event.target.value })} />
        </Field>
        <Field label={compose.bcc} optional error={faults.of('bcc')}>
          <Input value={draft.bcc} onChange={(event) => change({ bcc: event.target.value })} />
        </Field>
        <Field label={compose.replyTo} optional error={faults.of('reply_to')}>
          <Input value={draft.replyTo} onChange={(event) => change({ replyTo: event.target.value })} />
        </Field>
      </div>
      <Field
        label={compose.subject}
        optional={draft.template !== ''}
        help={draft.template === '' ? undefined : compose.subjectHelp}
        error={faults.of('subject')}
      >
        <Input
          value={draft.subject}
          maxLength={998}
          spellCheck
          onChange={(event) => change({ subject: event.target.value })}
        />
      </Field>
    </>
  )
}

/** An email without content is refused for its HTML, although a text is enough. */
export const EmailContent = ({ draft, change, faults }: FieldsProps) => {
  const ofHtml = faults.of('html')
  const isEmpty = draft.html === ''
  return (
    <>
      <Field label={compose.text} help={compose.textHelp} error={faults.of('text') ?? (isEmpty ? ofHtml : undefined)}>
        <TextArea value={draft.text} rows={6} onChange={(event) => change({ text: event.target.value })} />
      </Field>
      <Field label={compose.html} optional error={isEmpty ? undefined : ofHtml}>
        <TextArea
          value={draft.html}
          rows={8}
          spellCheck={false}
          className="font-mono"
          onChange={(event) => change({ html: event.target.value })}
        />
      </Field>
    </>
  )
}
