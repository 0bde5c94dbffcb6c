import { api, unwrap } from '../../../api/client.ts'
import { useUser } from '../../../api/session.ts'
import { password } from '../../../strings/account.ts'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Section } from '../../../ui/templates.tsx'
import { fieldsOf, TextField } from '../../../ui/text-field.tsx'
import { useFields } from '../../../ui/use-draft.ts'
import { useSave } from '../../../ui/use-save.ts'

const empty = { current_password: '', new_password: '' }

/** Passwords are no draft: they stay in memory only. */
export const PasswordForm = () => {
  const { has_password: hasPassword, email } = useUser()
  const { value: body, change } = useFields(empty)
  const form = useSave(() => unwrap(api.POST('/api/internal/user/password', { body })), {
    message: password.changed,
    done: () => change(empty),
  })
  const field = fieldsOf(body, change, form.fault)
  if (!hasPassword) return <Section title={password.password} description={password.noPassword} />
  return (
    <Section title={password.password} description={password.passwordHelp}>
      <SaveForm label={password.password} onSubmit={form.save} form={form} action={password.change}>
        <input type="hidden" autoComplete="username" value={email} readOnly />
        <TextField
          label={password.current}
          type="password"
          autoComplete="current-password"
          {...field('current_password')}
        />
        <TextField
          label={password.next}
          help={password.nextHelp}
          type="password"
          autoComplete="new-password"
          {...field('new_password')}
        />
      </SaveForm>
    </Section>
  )
}
