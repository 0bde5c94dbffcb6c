import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { PublicForm } from '../public-page.tsx'
import { useSubmit } from '../use-submit.ts'

type Props = { invite: string | undefined; email: string; onRegistered: (email: string) => void }

export const RegisterForm = ({ invite, email, onRegistered }: Props) => {
  const [values, setValues] = useState({ name: '', email, password: '', org_name: '' })
  const form = useSubmit()
  const input = (name: keyof typeof values, more: React.ComponentProps<'input'>) => (
    <Input
      name={name}
      value={values[name]}
      onChange={(event) => setValues({ ...values, [name]: event.target.value })}
      {...more}
    />
  )
  const send = () =>
    form.submit(async () => {
      const { org_name, ...person } = values
      const body = { ...person, ...(invite ? { invite_token: invite } : org_name && { org_name }) }
      await unwrap(api.POST('/api/auth/register', { body }))
      onRegistered(values.email)
    })
  return (
    <PublicForm onSubmit={send}>
      <Field label={signIn.name} error={form.fault('name')}>
        {input('name', { autoComplete: 'name', autoFocus: true })}
      </Field>
      <Field label={signIn.email} error={form.fault('email')}>
        {input('email', { type: 'email', autoComplete: 'username', readOnly: Boolean(invite && email) })}
      </Field>
      <Field label={signIn.password} help={signIn.passwordHelp} error={form.fault('password')}>
        {input('password', { type: 'password', autoComplete: 'new-password' })}
      </Field>
      {!invite && (
        <Field label={signIn.orgName} help={signIn.orgHelp} error={form.fault('org_name')} optional>
          {input('org_name', { autoComplete: 'organization' })}
        </Field>
      )}
      <ErrorNote error={form.rest} />
      <Button type="submit" look="primary" busy={form.busy}>
        {signIn.createAccount}
      </Button>
    </PublicForm>
  )
}
