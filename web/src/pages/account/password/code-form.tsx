import { type ReactNode, useState } from 'react'
import { password } from '../../../strings/account.ts'
import { Button } from '../../../ui/button.tsx'
import { Field } from '../../../ui/field.tsx'
import { CodeInput } from '../../../ui/input.tsx'
import { Form } from '../../../ui/templates.tsx'
import { useSubmit } from '../../sign-in/use-submit.ts'

type Props = {
  action: string
  danger?: boolean
  children?: ReactNode
  onCode: (code: string) => Promise<void>
}

/** Asks for a code of the authenticator app. */
export const CodeForm = ({ action, danger, children, onCode }: Props) => {
  const [code, setCode] = useState('')
  const form = useSubmit()
  return (
    <Form
      label={action}
      onSubmit={() => void form.submit(() => onCode(code.replaceAll(' ', '')))}
      error={form.rest}
      actions={
        <Button type="submit" look={danger ? 'danger' : 'primary'} busy={form.busy}>
          {action}
        </Button>
      }
    >
      {children}
      <Field label={password.code} error={form.fault('code')}>
        <CodeInput value={code} onChange={(event) => setCode(event.target.value)} />
      </Field>
    </Form>
  )
}
