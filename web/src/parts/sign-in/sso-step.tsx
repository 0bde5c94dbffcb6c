import { useState } from 'react'
import { enterAt } from '../../api/enter.ts'
import { signIn } from '../../strings/sign-in.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { Input } from '../../ui/input.tsx'
import { PublicForm } from './public-page.tsx'
import { ssoAddress } from './sso-address.ts'

type Props = { redirectTo: string | undefined; onRestart: () => void }

/** The domain of the address names the organisation, and with it the identity provider. */
export const SsoStep = ({ redirectTo, onRestart }: Props) => {
  const [email, setEmail] = useState('')
  const [error, setError] = useState<string>()
  const send = () => {
    if (!/^\S+@\S+$/.test(email.trim())) return setError(signIn.ssoEmailMissing)
    enterAt(ssoAddress(`/api/auth/sso/login?email=${encodeURIComponent(email.trim())}`, redirectTo))
  }
  return (
    <PublicForm
      onSubmit={send}
      action={signIn.continue}
      more={
        <Button look="quiet" size="small" onClick={onRestart}>
          {signIn.withPassword}
        </Button>
      }
    >
      <Field label={signIn.workEmail} help={signIn.ssoHelp} error={error}>
        <Input
          type="email"
          name="email"
          autoComplete="username"
          autoFocus
          value={email}
          onChange={(event) => {
            setError(undefined)
            setEmail(event.target.value)
          }}
        />
      </Field>
    </PublicForm>
  )
}
