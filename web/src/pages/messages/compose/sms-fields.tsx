import { compose } from '../../../strings/compose.ts'
import { fieldsOf, TextAreaField, TextField } from '../../../ui/text-field.tsx'
import type { FieldsProps } from './email-fields.tsx'

export const SmsAddresses = ({ draft, change, faults }: FieldsProps) => {
  const field = fieldsOf(draft, change, faults.of)
  return (
    <>
      <TextField label={compose.from} help={compose.fromHelp.sms} {...field('from')} />
      <TextField label={compose.to} help={compose.toHelp.sms} {...field('to')} />
      {draft.to.trim().startsWith('+91') && (
        <TextField label={compose.dlt} help={compose.dltHelp} {...field('dlt', 'dlt_template_id')} />
      )}
    </>
  )
}

export const SmsContent = ({ draft, change, faults }: FieldsProps) => (
  <TextAreaField
    label={compose.body}
    help={compose.bodyHelp([...draft.body].length)}
    rows={4}
    {...fieldsOf(draft, change, faults.of)('body')}
  />
)
