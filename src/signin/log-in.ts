/** Sign-in with a password, then the mailed code, then the second factor of an account that has one. */
import { type SsoRequired, ssoRequired } from '../accounts/sso-enforcement.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { sameBytes } from '../ground/crypto.ts'
import { Failure } from '../ground/errors.ts'
import { isId, newId } from '../ground/ids.ts'
import { actorFrom, type CompleteSignIn, type From, type SignedIn } from './complete-sign-in.ts'
import type { ConfirmEmail } from './confirm-email.ts'
import type { FailedLogin, RecordFailedLogin } from './failed-logins.ts'
import type { HandOverMail } from './hand-over-mail.ts'
import { loginCodeMail } from './mail-templates.ts'
import type { ProvePassword } from './prove-password.ts'
import type { FactorProof, SecondFactor } from './second-factor.ts'
import { type Codes, maxTries } from './sign-in-code.ts'
import {
  askSecondFactor,
  type ChallengeRow,
  type ChallengeStep,
  endChallenge,
  findChallenge,
  insertChallenge,
  replaceChallengeCode,
  tryChallenge,
} from './store/challenge-rows.ts'
import { type AccountRow, lockAccount } from './store/user-rows.ts'
import { bucketOf, type SignInAttempt, type Throttle, tooManyAttempts, tooManyRequests } from './throttle.ts'

const challengeMinutes = 10

export type CodeRequired = { challengeId: string; email: string; expiresAt: Date }
export type FactorRequired = { challengeId: string; expiresAt: Date }
export type Completed = SignedIn & { redirectTo: string }

export interface LogIn {
  start(given: { email: string; password: string; redirectTo: string }, from: From): Promise<CodeRequired>
  resend(challengeId: string): Promise<CodeRequired>
  code(
    given: { challengeId: string; code: string; activeOrg: string | undefined },
    from: From,
  ): Promise<Completed | FactorRequired>
  secondFactor(
    given: { challengeId: string; proof: FactorProof; activeOrg: string | undefined },
    from: From,
  ): Promise<Completed & { backupCodesLeft: number }>
  /** The challenge of an account whose person a provider has proven. */
  askFactor(tx: Tx, userId: string, method: string, redirectTo: string): Promise<FactorRequired>
}

type Needs = {
  db: Db
  clock: Clock
  provePassword: Pick<ProvePassword, 'atSignIn'>
  codes: Codes
  throttle: Throttle
  mail: HandOverMail
  secondFactor: SecondFactor
  confirmEmail: ConfirmEmail
  completeSignIn: CompleteSignIn
  recordFailedLogin: RecordFailedLogin
}

const wrongPassword = (): Failure => new Failure('UNAUTHORIZED', { flatMessage: 'Invalid email or password' })
const wrongCode = (): Failure => new Failure('UNAUTHORIZED', { flatMessage: 'Invalid or expired code' })

/** The challenge has ended and its transaction is committed by now, so its code cannot be used again. */
const signedInOnly = <T extends object | undefined>(done: T | SsoRequired): T => {
  if (done !== undefined && 'ssoLoginUrl' in done) throw ssoRequired(done as SsoRequired)
  return done as T
}

const purposeOf = (challengeId: string): string => `login ${challengeId}`

export const makeLogIn = (needs: Needs): LogIn => {
  const { db, clock, provePassword, codes, throttle, mail, secondFactor, confirmEmail, completeSignIn } = needs
  const { recordFailedLogin } = needs
  const soon = (): Date => new Date(clock.millis() + challengeMinutes * 60_000)

  const lockedAccount = async (tx: Tx, userId: string): Promise<AccountRow> => {
    const account = await tx.row(lockAccount, { userId })
    if (!account) throw wrongCode()
    return account
  }

  const live = async (id: string, step: ChallengeStep): Promise<ChallengeRow | undefined> =>
    isId('challenge', id) ? db.row(findChallenge, { id, step, now: clock.now() }) : undefined

  /** Judges one step of a challenge. Counts the try first, so that guesses at the same time cannot exceed the limit. */
  const judge = async <T>(
    id: string,
    stage: Exclude<FailedLogin['stage'], 'password'>,
    from: From,
    work: (challenge: ChallengeRow) => Promise<T | undefined>,
  ): Promise<T> => {
    const known = await live(id, stage)
    const attempt: SignInAttempt = await throttle.attempt({ email: known?.email, ip: from.ip })
    try {
      const challenge = known && (await db.row(tryChallenge, { id, step: stage, now: clock.now(), maxTries }))
      const result = challenge && (await work(challenge))
      if (result !== undefined) return result
      await attempt.failed()
      if (challenge) recordFailedLogin({ userId: challenge.user_id, email: challenge.email, stage }, from)
      throw wrongCode()
    } finally {
      attempt.end()
    }
  }

  const start: LogIn['start'] = async ({ email, password, redirectTo }, from) => {
    const { right, account } = await provePassword.atSignIn({ email, password }, from)
    if (!account || !right) {
      if (account) recordFailedLogin({ userId: account.id, email, stage: 'password' }, from)
      throw wrongPassword()
    }
    await throttle.require(tooManyAttempts, bucketOf('login-mails', account.id, 60))
    const code = codes.make()
    const id = newId('challenge', clock.millis())
    await mail(email, account.default_org_id, loginCodeMail(code))
    const expiresAt = soon()
    await db.change(insertChallenge, {
      id,
      userId: account.id,
      method: 'credentials',
      step: 'code',
      codeHash: codes.hash(code, purposeOf(id)),
      redirectTo,
      at: clock.now(),
      expiresAt,
    })
    return { challengeId: id, email, expiresAt }
  }

  const resend: LogIn['resend'] = async (id) => {
    const challenge = await live(id, 'code')
    if (!challenge) throw wrongCode()
    await throttle.require(tooManyRequests, bucketOf('login-resend', challenge.user_id, 3))
    const code = codes.make()
    await mail(challenge.email, null, loginCodeMail(code))
    const expiresAt = soon()
    const codeHash = codes.hash(code, purposeOf(id))
    if (!(await db.row(replaceChallengeCode, { id, codeHash, now: clock.now(), expiresAt }))) throw wrongCode()
    return { challengeId: id, email: challenge.email, expiresAt }
  }

  const code: LogIn['code'] = ({ challengeId, code: given, activeOrg }, from) =>
    judge(challengeId, 'code', from, async ({ user_id, code_hash, method, redirect_to }) => {
      if (code_hash === null || !sameBytes(code_hash, codes.hash(given, purposeOf(challengeId)))) return undefined
      const done = await db.tx(async (tx): Promise<Completed | FactorRequired | SsoRequired> => {
        const account = await lockedAccount(tx, user_id)
        const expiresAt = soon()
        const hasFactor = account.totp_enabled_at !== null
        const moved = hasFactor
          ? await tx.row(askSecondFactor, { id: challengeId, codeHash: code_hash, expiresAt })
          : await tx.row(endChallenge, { id: challengeId, step: 'code', codeHash: code_hash, at: clock.now() })
        if (!moved) throw wrongCode()
        await confirmEmail.confirm(tx, account, actorFrom(user_id, from))
        if (hasFactor) return { challengeId, expiresAt }
        return { ...(await completeSignIn(tx, account, { method, from, activeOrg })), redirectTo: redirect_to }
      })
      return signedInOnly(done)
    })

  const byFactor: LogIn['secondFactor'] = ({ challengeId, proof, activeOrg }, from) =>
    judge(challengeId, '2fa', from, async ({ user_id, method, redirect_to }) => {
      type Done = (Completed & { backupCodesLeft: number }) | SsoRequired | undefined
      const done = await db.tx(async (tx): Promise<Done> => {
        const account = await lockedAccount(tx, user_id)
        if (!(await secondFactor.use(tx, account, proof))) return undefined
        const ended = await tx.row(endChallenge, { id: challengeId, step: '2fa', codeHash: null, at: clock.now() })
        if (!ended) throw wrongCode()
        return {
          ...(await completeSignIn(tx, account, { method, from, activeOrg })),
          redirectTo: redirect_to,
          backupCodesLeft: await secondFactor.backupCodesLeft(tx, user_id),
        }
      })
      return signedInOnly(done)
    })

  return {
    start,
    resend,
    code,
    secondFactor: byFactor,
    askFactor: async (tx, userId, method, redirectTo) => {
      const at = clock.now()
      const challengeId = newId('challenge', at.getTime())
      const expiresAt = soon()
      const row = { id: challengeId, userId, method, codeHash: null, redirectTo, at, expiresAt }
      await tx.change(insertChallenge, { ...row, step: '2fa' })
      return { challengeId, expiresAt }
    },
  }
}
