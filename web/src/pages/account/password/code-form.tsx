import { type ReactNode, useState } from 'react'
import { password } from '../../../strings/account.ts'
import { Field } from '../../../ui/field.tsx'
import { CodeInput } from '../../../ui/input.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { useSave } from '../../../ui/use-save.ts'

type Props = {
  action: string
  danger?: boolean
  children?: ReactNode
  onCode: (code: string) => Promise<void>
}

/** Asks for a code of the authenticator app. */
export const CodeForm = ({ action, danger, children, onCode }: Props) => {
  const [code, setCode] = useState('')
  const form = useSave(() => onCode(code.replaceAll(' ', '')))
  return (
    <SaveForm label={action} onSubmit={form.save} form={form} look={danger ? 'danger' : 'primary'} action={action}>
      {children}
      <Field label={password.code} error={form.fault('code')}>
        <CodeInput value={code} onChange={(event) => setCode(event.target.value)} />
      </Field>
    </SaveForm>
  )
}
