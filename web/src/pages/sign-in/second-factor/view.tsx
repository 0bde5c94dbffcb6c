import { useNavigate, useSearch } from '@tanstack/react-router'
import { signIn } from '../../../strings/sign-in.ts'
import { enterAt } from '../enter.ts'
import { PublicPage } from '../public-page.tsx'
import { FactorStep } from '../steps/factor-step.tsx'
import { proveFactor } from '../steps/outcome.ts'

/** The last step after a sign-in with a provider, which sends the browser here. */
const SecondFactorPage = () => {
  const { challenge_id: challengeId = '' } = useSearch({ strict: false }) as Record<string, string>
  const navigate = useNavigate()
  return (
    <PublicPage title={signIn.factorTitle}>
      <FactorStep
        redirectTo={undefined}
        onRestart={() => void navigate({ to: '/login' })}
        onProof={(proof) => proveFactor(challengeId, proof, (done) => enterAt(done.redirect_to))}
      />
    </PublicPage>
  )
}

export default SecondFactorPage
