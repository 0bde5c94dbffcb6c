import { useNavigate, useSearch } from '@tanstack/react-router'
import { enterAt } from '../../../api/enter.ts'
import { FactorStep } from '../../../parts/sign-in/factor-step.tsx'
import { proveFactor } from '../../../parts/sign-in/outcome.ts'
import { PublicPage } from '../../../parts/sign-in/public-page.tsx'
import { signIn } from '../../../strings/sign-in.ts'

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
