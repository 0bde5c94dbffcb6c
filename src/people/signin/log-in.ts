/** Sign-in with a password, then the mailed code, then the second factor of an account that has one. */
import { type SsoRequired, ssoRequired } from '../../customers/accounts/sso-enforcement.ts'
import type { CompleteSignIn, From, SignedIn } from './complete-sign-in.ts'
import type { AfterProof, LoginChallenges } from './login-challenges.ts'
import type { FactorProof } from './second-factor.ts'

export type Completed = SignedIn & { redirectTo: string }

/** The challenge has ended and its transaction is committed by now, so its code cannot be used again. */
const signedInOnly = <T extends object>(done: T): Exclude<T, SsoRequired> => {
  if ('ssoLoginUrl' in done) throw ssoRequired(done as T & SsoRequired)
  return done as Exclude<T, SsoRequired>
}

type Needs = { challenges: LoginChallenges; completeSignIn: CompleteSignIn }

export const makeLogIn = ({ challenges, completeSignIn }: Needs) => {
  const enter =
    (activeOrg: string | undefined, from: From): AfterProof<(SignedIn | SsoRequired) & { redirectTo: string }> =>
    async (tx, account, { method, redirect_to: redirectTo }) => ({
      ...(await completeSignIn(tx, account, { method, from, activeOrg })),
      redirectTo,
    })

  return {
    start: (given: { email: string; password: string; redirectTo: string }, from: From) =>
      challenges.start({ ...given, sessionId: null }, from),
    resend: (challengeId: string) => challenges.resend({ challengeId, sessionId: null }),
    code: async (
      { activeOrg, ...given }: { challengeId: string; code: string; activeOrg: string | undefined },
      from: From,
    ) => signedInOnly(await challenges.code({ ...given, sessionId: null }, from, enter(activeOrg, from))),
    secondFactor: async (
      { activeOrg, ...given }: { challengeId: string; proof: FactorProof; activeOrg: string | undefined },
      from: From,
    ) => signedInOnly(await challenges.secondFactor({ ...given, sessionId: null }, from, enter(activeOrg, from))),
  }
}

export type LogIn = ReturnType<typeof makeLogIn>
