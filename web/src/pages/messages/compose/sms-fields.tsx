import { compose } from '../../../strings/compose.ts'
import { Field } from '../../../ui/field.tsx'
import { Input, TextArea } from '../../../ui/input.tsx'
import type { FieldsProps } from './email-fields.tsx'

export const SmsAddresses = ({ draft, change, faults }: FieldsProps) => (
  <>
    <Field label={compose.from} help={compose.fromHelp.sms} error={faults.of('from')}>
      <Input value={draft.from} onChange={(event) => change({ from: event.target.value })} />
    </Field>
    <Field label={compose.to} help={compose.toHelp.sms} error={faults.of('to')}>
      <Input value={draft.to} onChange={(event) => change({ to: event.target.value })} />
    </Field>
    {draft.to.trim().startsWith('+91') && (
      <Field label={compose.dlt} help={compose.dltHelp} error={faults.of('dlt_template_id')}>
        <Input value={draft.dlt} onChange={(event) => change({ dlt: event.target.value })} />
      </Field>
    )}
  </>
)

export const SmsContent = ({ draft, change, faults }: FieldsProps) => (
  <Field label={compose.body} help={compose.bodyHelp([...draft.body].length)} error={faults.of('body')}>
    <TextArea value={draft.body} rows={4} onChange={(event) => change({ body: event.target.value })} />
  </Field>
)
