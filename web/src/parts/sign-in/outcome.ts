import { api, unwrap } from '../../api/client.ts'
import type { operations } from '../../api/schema.gen.ts'
import type { FactorProof } from './factor-step.tsx'

type LoginAnswer = operations['postApiAuthLogin2fa']['responses'][200]['content']['application/json']

/** The answer of the last step of a sign-in. */
export type SignedIn = LoginAnswer

/** The last step of a sign-in. Returns how many backup codes are left. */
export const proveFactor = async (challengeId: string, proof: FactorProof, onDone: (done: SignedIn) => void) => {
  const done = await unwrap(api.POST('/api/auth/login/2fa', { body: { challenge_id: challengeId, ...proof } }))
  onDone(done)
  return done.backup_codes_left
}
