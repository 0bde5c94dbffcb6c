import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { compose } from '../../../strings/compose.ts'
import { everyRow, longPage } from '../../../ui/every-row.ts'
import { fieldsOf, TextAreaField, TextField } from '../../../ui/text-field.tsx'
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
  const field = fieldsOf(draft, change, faults.of)
  return (
    <>
      <TextField label={compose.from} help={fromHelp} {...field('from')} />
      <TextField label={compose.to} help={compose.toHelp.email} {...field('to')} />
      <div className="grid gap-4 sm:grid-cols-3">
        <TextField label={compose.cc} optional {...field('cc')} />
        <TextField label={compose.bcc} optional {...field('bcc')} />
        <TextField label={compose.replyTo} optional {...field('replyTo', 'reply_to')} />
      </div>
      <TextField
        label={compose.subject}
        optional={draft.template !== ''}
        help={draft.template === '' ? undefined : compose.subjectHelp}
        maxLength={998}
        spellCheck
        {...field('subject')}
      />
    </>
  )
}

/** An email without content is refused for its HTML, although a text is enough. */
export const EmailContent = ({ draft, change, faults }: FieldsProps) => {
  const ofHtml = faults.of('html')
  const isEmpty = draft.html === ''
  return (
    <>
      <TextAreaField
        label={compose.text}
        help={compose.textHelp}
        error={faults.of('text') ?? (isEmpty ? ofHtml : undefined)}
        value={draft.text}
        rows={6}
        onText={(text) => change({ text })}
      />
      <TextAreaField
        label={compose.html}
        optional
        error={isEmpty ? undefined : ofHtml}
        value={draft.html}
        rows={8}
        spellCheck={false}
        className="font-mono"
        onText={(text) => change({ html: text })}
      />
    </>
  )
}
