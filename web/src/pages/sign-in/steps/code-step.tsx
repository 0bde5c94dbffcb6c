import { useState } from 'react'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { Field } from '../../../ui/field.tsx'
import { CodeInput } from '../../../ui/input.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { PublicForm } from '../public-page.tsx'
import { useSubmit } from '../use-submit.ts'
import { SignInError } from './sign-in-error.tsx'

type Props = {
  sentTo: string
  redirectTo: string | undefined
  onRestart: () => void
  onCode: (code: string) => Promise<void>
  onResend: () => Promise<unknown>
}

/** The code that was mailed. What it is for, the caller knows. */
export const CodeStep = ({ sentTo, redirectTo, onRestart, onCode, onResend }: Props) => {
  const [code, setCode] = useState('')
  const form = useSubmit()
  const resend = () =>
    form.submit(async () => {
      await onResend()
      toast(signIn.resent)
    })
  return (
    <PublicForm onSubmit={() => form.submit(() => onCode(code))}>
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
    </PublicForm>
  )
}
