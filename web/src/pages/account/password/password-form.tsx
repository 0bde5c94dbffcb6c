import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { useUser } from '../../../api/session.ts'
import { password } from '../../../strings/account.ts'
import { Button } from '../../../ui/button.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Form, Section } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useSubmit } from '../../sign-in/use-submit.ts'

/** Passwords are no draft: they stay in memory only. */
export const PasswordForm = () => {
  const { has_password: hasPassword, email } = useUser()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const form = useSubmit()
  const change = () =>
    form.submit(async () => {
      const body = { current_password: current, new_password: next }
      await unwrap(api.POST('/api/internal/user/password', { body }))
      setCurrent('')
      setNext('')
      toast(password.changed)
    })
  if (!hasPassword) return <Section title={password.password} description={password.noPassword} />
  return (
    <Section title={password.password} description={password.passwordHelp}>
      <Form
        label={password.password}
        onSubmit={change}
        error={form.rest}
        actions={
          <Button type="submit" look="primary" busy={form.busy}>
            {password.change}
          </Button>
        }
      >
        <input type="hidden" autoComplete="username" value={email} readOnly />
        <Field label={password.current} error={form.fault('current_password')}>
          <Input
            type="password"
            autoComplete="current-password"
            value={current}
            onChange={(event) => setCurrent(event.target.value)}
          />
        </Field>
        <Field label={password.next} help={password.nextHelp} error={form.fault('new_password')}>
          <Input
            type="password"
            autoComplete="new-password"
            value={next}
            onChange={(event) => setNext(event.target.value)}
          />
        </Field>
      </Form>
    </Section>
  )
}
