import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { PublicForm } from '../../../parts/sign-in/public-page.tsx'
import { signIn } from '../../../strings/sign-in.ts'
import { TextField } from '../../../ui/text-field.tsx'
import { useSave } from '../../../ui/use-save.ts'

type Props = { invite: string | undefined; email: string; onRegistered: (email: string) => void }

export const RegisterForm = ({ invite, email, onRegistered }: Props) => {
  const [values, setValues] = useState({ name: '', email, password: '', org_name: '' })
  const form = useSave(
    () => {
      const { org_name, ...person } = values
      const body = { ...person, ...(invite ? { invite_token: invite } : org_name && { org_name }) }
      return unwrap(api.POST('/api/auth/register', { body }))
    },
    { done: () => onRegistered(values.email) },
  )
  const field = (name: keyof typeof values) => ({
    name,
    value: values[name],
    error: form.fault(name),
    onText: (text: string) => setValues({ ...values, [name]: text }),
  })
  return (
    <PublicForm onSubmit={form.save} form={form} action={signIn.createAccount}>
      <TextField label={signIn.name} autoComplete="name" autoFocus {...field('name')} />
      <TextField
        label={signIn.email}
        type="email"
        autoComplete="username"
        readOnly={Boolean(invite && email)}
        {...field('email')}
      />
      <TextField
        label={signIn.password}
        help={signIn.passwordHelp}
        type="password"
        autoComplete="new-password"
        {...field('password')}
      />
      {!invite && (
        <TextField
          label={signIn.orgName}
          help={signIn.orgHelp}
          optional
          autoComplete="organization"
          {...field('org_name')}
        />
      )}
    </PublicForm>
  )
}
