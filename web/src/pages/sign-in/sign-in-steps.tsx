/** Sign-in with a password, then the mailed code, then the second factor of an account that has one. */
import { useState } from 'react'
import { CodeStep } from './steps/code-step.tsx'
import { FactorStep } from './steps/factor-step.tsx'
import type { SignedIn } from './steps/outcome.ts'
import { PasswordStep } from './steps/password-step.tsx'
import { SsoStep } from './steps/sso-step.tsx'

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
    return (
      <CodeStep
        {...step}
        redirectTo={redirectTo}
        onRestart={restart}
        onFactor={(id) => setStep({ name: 'factor', challengeId: id })}
        onDone={onDone}
      />
    )
  }
  if (step.name === 'factor') {
    return <FactorStep challengeId={step.challengeId} redirectTo={redirectTo} onRestart={restart} onDone={onDone} />
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
