import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { Field } from '../../../ui/field.tsx'
import { CodeInput } from '../../../ui/input.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { DevMail } from '../dev-mail.tsx'
import { PublicForm } from '../public-page.tsx'
import { useSubmit } from '../use-submit.ts'
import type { SignedIn } from './outcome.ts'
import { SignInError } from './sign-in-error.tsx'

type Props = {
  challengeId: string
  /** As it may be shown. */
  sentTo: string
  email: string
  redirectTo: string | undefined
  onRestart: () => void
  onFactor: (challengeId: string) => void
  onDone: (done: SignedIn) => void
}

export const CodeStep = ({ challengeId, sentTo, email, redirectTo, onRestart, onFactor, onDone }: Props) => {
  const [code, setCode] = useState('')
  const form = useSubmit()
  const send = () =>
    form.submit(async () => {
      const body = { challenge_id: challengeId, code }
      const done = await unwrap(api.POST('/api/auth/login/code', { body }))
      if (done.status === 'two_factor_required') onFactor(done.challenge_id)
      else onDone(done)
    })
  const resend = () =>
    form.submit(async () => {
      await unwrap(api.POST('/api/auth/login/resend', { body: { challenge_id: challengeId } }))
      toast(signIn.resent)
    })
  return (
    <PublicForm onSubmit={send}>
      <p className="text-muted text-sm">{signIn.codeSent(sentTo)}</p>
      <Field label={signIn.code} error={form.fault('code')}>
        <CodeInput name="code" autoFocus value={code} onChange={(event) => setCode(event.target.value)} />
      </Field>
      <SignInError error={form.rest} redirectTo={redirectTo} />
      <Button type="submit" look="primary" busy={form.busy}>
        {signIn.continue}
      </Button>
      <div className="flex justify-between">
        <Button look="quiet" size="small" onClick={onRestart}>
          {signIn.startOver}
        </Button>
        <Button look="quiet" size="small" onClick={resend}>
          {signIn.resend}
        </Button>
      </div>
      <DevMail to={email} />
    </PublicForm>
  )
}
