/** The own password, then the mailed code, then the second factor of an account that has one, in an open session. */
import { useState } from 'react'
import { api, unwrap } from '../../api/client.ts'
import { useUser } from '../../api/session.ts'
import { signIn } from '../../strings/sign-in.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorNote } from '../../ui/error-note.tsx'
import { TextField } from '../../ui/text-field.tsx'
import { useSave } from '../../ui/use-save.ts'
import { CodeStep } from './code-step.tsx'
import { FactorStep } from './factor-step.tsx'
import { PublicForm } from './public-page.tsx'

type Body = NonNullable<Parameters<typeof post>[0]>
const post = (body: { password?: string; challenge_id?: string; code?: string; backup_code?: string }) =>
  unwrap(api.POST('/api/auth/step-up', { body }))

/** The link ends all sessions, so the person comes back through the identity provider. */
const NoPassword = ({ email }: { email: string }) => {
  const [sent, setSent] = useState(false)
  const form = useSave(() => unwrap(api.POST('/api/auth/forgot-password', { body: { email } })), {
    done: () => setSent(true),
  })
  if (sent) return <p role="status">{signIn.linkSent(email)}</p>
  return (
    <>
      <p className="text-sm">{signIn.stepUpNoPassword}</p>
      <ErrorNote error={form.rest} />
      <Button look="primary" busy={form.busy} onClick={() => form.save()}>
        {signIn.sendLink}
      </Button>
    </>
  )
}

const PasswordForm = ({ email, onCode }: { email: string; onCode: (id: string, sentTo: string) => void }) => {
  const [password, setPassword] = useState('')
  const form = useSave(() => post({ password }), {
    done: (asked) => {
      if (asked.status === 'code_required') onCode(asked.challenge_id, asked.sent_to)
    },
  })
  return (
    <PublicForm onSubmit={form.save} form={form} action={signIn.continue}>
      <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
      <TextField
        label={signIn.password}
        error={form.fault('password')}
        type="password"
        name="password"
        autoComplete="current-password"
        autoFocus
        value={password}
        onText={setPassword}
      />
    </PublicForm>
  )
}

type Step = { name: 'password' } | { name: 'code'; id: string; sentTo: string } | { name: 'factor'; id: string }

export const StepUpSteps = ({ onDone }: { onDone: () => void }) => {
  const { email, has_password } = useUser()
  const [step, setStep] = useState<Step>({ name: 'password' })
  const restart = () => setStep({ name: 'password' })
  /** Returns how many backup codes are left. */
  const prove = async (body: Body): Promise<number | undefined> => {
    const done = await post(body)
    if (done.status === 'two_factor_required') setStep({ name: 'factor', id: done.challenge_id })
    if (done.status !== 'stepped_up') return undefined
    onDone()
    return done.backup_codes_left
  }
  if (!has_password) return <NoPassword email={email} />
  if (step.name === 'code') {
    return (
      <CodeStep
        sentTo={step.sentTo}
        email={email}
        redirectTo={undefined}
        onRestart={restart}
        onResend={() => post({ challenge_id: step.id })}
        onCode={async (code) => void (await prove({ challenge_id: step.id, code }))}
      />
    )
  }
  if (step.name === 'factor') {
    const { id } = step
    return (
      <FactorStep
        redirectTo={undefined}
        onRestart={restart}
        onProof={(proof) => prove({ challenge_id: id, ...proof })}
      />
    )
  }
  return <PasswordForm email={email} onCode={(id, sentTo) => setStep({ name: 'code', id, sentTo })} />
}
