import { useState } from 'react'
import { signIn } from '../../strings/sign-in.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { CodeInput } from '../../ui/input.tsx'
import { toast } from '../../ui/toasts.tsx'
import { useWork } from '../../ui/use-save.ts'
import { DevMail } from './dev-mail.tsx'
import { PublicForm } from './public-page.tsx'
import { SignInError } from './sign-in-error.tsx'

type Props = {
  /** As it may be shown. */
  sentTo: string
  email: string
  redirectTo: string | undefined
  onRestart: () => void
  onCode: (code: string) => Promise<void>
  onResend: () => Promise<unknown>
}

/** The code that was mailed. What it is for, the caller knows. */
export const CodeStep = ({ sentTo, email, redirectTo, onRestart, onCode, onResend }: Props) => {
  const [code, setCode] = useState('')
  const form = useWork()
  const resend = async () => {
    await onResend()
    toast(signIn.resent)
  }
  return (
    <PublicForm
      onSubmit={() => form.save(() => onCode(code))}
      form={form}
      error={<SignInError error={form.rest} redirectTo={redirectTo} />}
      action={signIn.continue}
      more={
        <>
          <div className="flex justify-between">
            <Button look="quiet" size="small" onClick={onRestart}>
              {signIn.startOver}
            </Button>
            <Button look="quiet" size="small" onClick={() => form.save(resend)}>
              {signIn.resend}
            </Button>
          </div>
          <DevMail to={email} />
        </>
      }
    >
      <p className="text-muted text-sm">{signIn.codeSent(sentTo)}</p>
      <Field label={signIn.code} error={form.fault('code')}>
        <CodeInput name="code" autoFocus value={code} onChange={(event) => setCode(event.target.value)} />
      </Field>
    </PublicForm>
  )
}
