import { useState } from 'react'
import { signIn } from '../../strings/sign-in.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { CodeInput } from '../../ui/input.tsx'
import { toast } from '../../ui/toasts.tsx'
import { useSave } from '../../ui/use-save.ts'
import { PublicForm } from './public-page.tsx'
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
  const form = useSave(() => onProof(backup ? { backup_code: code } : { code }), {
    done: (left) => {
      if (backup && left !== undefined) toast(signIn.backupLeft(left))
    },
  })
  return (
    <PublicForm
      onSubmit={form.save}
      form={form}
      error={<SignInError error={form.rest} redirectTo={redirectTo} />}
      action={signIn.continue}
      more={
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
      }
    >
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
    </PublicForm>
  )
}
