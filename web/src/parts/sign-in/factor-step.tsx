import { useState } from 'react'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { Field } from '../../../ui/field.tsx'
import { CodeInput } from '../../../ui/input.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { PublicForm } from '../public-page.tsx'
import { useSubmit } from '../use-submit.ts'
import { SignInError } from './sign-in-error.tsx'

export type FactorProof = { code: string } | { backup_code: string }

type Props = {
  redirectTo: string | undefined
  onRestart: () => void
  /** Returns how many backup codes are left. */
  onProof: (proof: FactorProof) => Promise<number | undefined>
}

/** The code of the authenticator app, or a backup code. What it is for, the caller knows. */
export const FactorStep = ({ redirectTo, onRestart, onProof }: Props) => {
  const [backup, setBackup] = useState(false)
  const [code, setCode] = useState('')
  const form = useSubmit()
  const send = () =>
    form.submit(async () => {
      const left = await onProof(backup ? { backup_code: code } : { code })
      if (backup && left !== undefined) toast(signIn.backupLeft(left))
    })
  return (
    <PublicForm onSubmit={send}>
      <p className="text-muted text-sm">{backup ? signIn.backupHelp : signIn.factorHelp}</p>
      <Field label={backup ? signIn.backupCode : signIn.code} error={form.fault('code') ?? form.fault('backup_code')}>
        <CodeInput
          key={String(backup)}
          name="code"
          autoFocus
          {...(backup && { inputMode: 'text', autoComplete: 'off' })}
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
      </Field>
      <SignInError error={form.rest} redirectTo={redirectTo} />
      <Button type="submit" look="primary" busy={form.busy}>
        {signIn.continue}
      </Button>
      <div className="flex justify-between">
        <Button look="quiet" size="small" onClick={onRestart}>
          {signIn.startOver}
        </Button>
        <Button
          look="quiet"
          size="small"
          onClick={() => {
            setBackup(!backup)
            setCode('')
            form.clear()
          }}
        >
          {backup ? signIn.useApp : signIn.useBackup}
        </Button>
      </div>
    </PublicForm>
  )
}
