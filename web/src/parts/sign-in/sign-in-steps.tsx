/** Sign-in with a password, then the mailed code, then the second factor of an account that has one. */
import { useState } from 'react'
import { api, unwrap } from '../../api/client.ts'
import { CodeStep } from './code-step.tsx'
import { type FactorProof, FactorStep } from './factor-step.tsx'
import { proveFactor, type SignedIn } from './outcome.ts'
import { PasswordStep } from './password-step.tsx'
import { SsoStep } from './sso-step.tsx'

type Step =
  | { name: 'password' }
  | { name: 'sso' }
  | { name: 'code'; challengeId: string; sentTo: string; email: string }
  | { name: 'factor'; challengeId: string }

type Props = {
  redirectTo?: string | undefined
  /** Begins with the second factor, after a provider has proven who the person is. */
  challengeId?: string | undefined
  onDone: (done: SignedIn) => void
}

export const SignInSteps = ({ redirectTo, challengeId, onDone }: Props) => {
  const [step, setStep] = useState<Step>(challengeId ? { name: 'factor', challengeId } : { name: 'password' })
  const restart = () => setStep({ name: 'password' })
  if (step.name === 'code') {
    const challenge = { challenge_id: step.challengeId }
    return (
      <CodeStep
        sentTo={step.sentTo}
        email={step.email}
        redirectTo={redirectTo}
        onRestart={restart}
        onResend={() => unwrap(api.POST('/api/auth/login/resend', { body: challenge }))}
        onCode={async (code) => {
          const done = await unwrap(api.POST('/api/auth/login/code', { body: { ...challenge, code } }))
          if (done.status === 'two_factor_required') setStep({ name: 'factor', challengeId: done.challenge_id })
          else onDone(done)
        }}
      />
    )
  }
  if (step.name === 'factor') {
    const onProof = (proof: FactorProof) => proveFactor(step.challengeId, proof, onDone)
    return <FactorStep redirectTo={redirectTo} onRestart={restart} onProof={onProof} />
  }
  if (step.name === 'sso') return <SsoStep redirectTo={redirectTo} onRestart={restart} />
  return (
    <PasswordStep
      redirectTo={redirectTo}
      onCode={(id, sentTo, email) => setStep({ name: 'code', challengeId: id, sentTo, email })}
      onSso={() => setStep({ name: 'sso' })}
    />
  )
}
