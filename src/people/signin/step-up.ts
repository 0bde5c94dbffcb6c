/**
 * Opens the other orgs of a person to a session that the identity provider of one org opened: they prove their own factors
 * in it, with the steps of sign-in.
 */
import type { RecordPersonal } from '../../customers/accounts/personal-audit.ts'
import type { OpenedSession, Sessions } from '../../customers/accounts/sessions.ts'
import { judgeEnforcement } from '../../customers/accounts/sso-enforcement.ts'
import type { Db } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { actorFrom, type From } from './complete-sign-in.ts'
import { type AfterProof, type LoginChallenges, wrongPassword } from './login-challenges.ts'
import type { FactorProof } from './second-factor.ts'
import { findAccount, findFilingOrg } from './store/user-rows.ts'

type OwnSession = { userId: string; sessionId: string }

/** The session has a new token from now on. */
type SteppedUp = { session: OpenedSession; backupCodesLeft?: number }

type Needs = {
  db: Db
  sessions: Pick<Sessions, 'stepUp'>
  challenges: LoginChallenges
  recordPersonal: RecordPersonal
}

export const makeStepUp = ({ db, sessions, challenges, recordPersonal }: Needs) => {
  const raise =
    (session: OwnSession, from: From): AfterProof<SteppedUp> =>
    async (tx, { id: userId }, { method }) => {
      const opened = await sessions.stepUp(tx, session)
      if (!opened) throw new Failure('UNAUTHORIZED')
      const { breakGlass } = await judgeEnforcement(tx, userId, null)
      const filing = await tx.row(findFilingOrg, { userId })
      await recordPersonal(tx, filing?.org_id ?? null, {
        userId,
        actor: actorFrom(userId, from),
        action: 'user.stepped_up',
        metadata: { method, ...(breakGlass && { break_glass: true }) },
      })
      return { session: opened }
    }

  return {
    start: async (
      { userId, sessionId }: OwnSession,
      { email, password }: { email?: string | undefined; password: string },
      from: From,
    ) => {
      const account = await db.row(findAccount, { userId })
      if (!account) throw new Failure('UNAUTHORIZED')
      if (account.password_hash === null) {
        const flatMessage = 'You have no password yet. Set one with the link that "Forgot password" mails to you.'
        throw new Failure('UNAUTHORIZED', { flatMessage })
      }
      if (email !== undefined && email !== account.email) throw wrongPassword()
      return challenges.start({ email: account.email, password, redirectTo: '/', sessionId }, from)
    },
    resend: ({ sessionId }: OwnSession, challengeId: string) => challenges.resend({ challengeId, sessionId }),
    /** The mailed code, or then the second factor. */
    prove: async (
      session: OwnSession,
      { challengeId, proof }: { challengeId: string; proof: FactorProof },
      from: From,
    ) => {
      const name = { challengeId, sessionId: session.sessionId }
      const done = raise(session, from)
      if (proof.code !== undefined && (await challenges.waitsForCode(name))) {
        return challenges.code({ ...name, code: proof.code }, from, done)
      }
      return challenges.secondFactor({ ...name, proof }, from, done)
    },
  }
}

export type StepUp = ReturnType<typeof makeStepUp>
