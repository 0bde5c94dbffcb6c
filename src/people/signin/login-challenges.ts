/**
 * What follows a right password: the mailed code, then the second factor of an account that has one. A challenge opens a
 * session, or steps up the one session that it was begun in.
 */
import type { StoreNeeds, Tx } from '../../platform/db/pool.ts'
import { sameBytes } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { isId, newId } from '../../platform/ground/ids.ts'
import { actorFrom, type From } from './complete-sign-in.ts'
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
import { bucketOf, type Throttle, tooManyAttempts, tooManyRequests } from './throttle.ts'

const challengeMinutes = 10

export type CodeRequired = { challengeId: string; email: string; expiresAt: Date }
export type FactorRequired = { challengeId: string; expiresAt: Date }

/** `sessionId` is the session to step up, or null to open one. A challenge works for nothing else. */
type ChallengeName = { challengeId: string; sessionId: string | null }

type Begun = { email: string; password: string; redirectTo: string; sessionId: string | null }

/** What happens once everything is proven, in the transaction that ends the challenge. */
export type AfterProof<T> = (tx: Tx, account: AccountRow, challenge: ChallengeRow) => Promise<T>

type Needs = StoreNeeds & {
  provePassword: Pick<ProvePassword, 'atSignIn'>
  codes: Codes
  throttle: Throttle
  mail: HandOverMail
  secondFactor: SecondFactor
  confirmEmail: ConfirmEmail
  recordFailedLogin: RecordFailedLogin
}

export const wrongPassword = (): Failure => new Failure('UNAUTHORIZED', { flatMessage: 'Invalid email or password' })
const wrongCode = (): Failure => new Failure('UNAUTHORIZED', { flatMessage: 'Invalid or expired code' })

const purposeOf = (challengeId: string): string => `login ${challengeId}`

export const makeLoginChallenges = (needs: Needs) => {
  const { db, clock, provePassword, codes, throttle, mail, secondFactor, confirmEmail, recordFailedLogin } = needs
  const soon = (): Date => new Date(clock.millis() + challengeMinutes * 60_000)

  const lockedAccount = async (tx: Tx, userId: string): Promise<AccountRow> => {
    const account = await tx.row(lockAccount, { userId })
    if (!account) throw wrongCode()
    return account
  }

  const live = async (
    { challengeId: id, sessionId }: ChallengeName,
    step: ChallengeStep,
  ): Promise<ChallengeRow | undefined> =>
    isId('challenge', id) ? db.row(findChallenge, { id, sessionId, step, now: clock.now() }) : undefined

  /** Judges one step of a challenge. Counts the try first, so that guesses at the same time cannot exceed the limit. */
  const judge = async <T>(
    name: ChallengeName,
    stage: Exclude<FailedLogin['stage'], 'password'>,
    from: From,
    work: (challenge: ChallengeRow) => Promise<T | undefined>,
  ): Promise<T> => {
    const known = await live(name, stage)
    return throttle.attempt({ email: known?.email, ip: from.ip }, async (failed) => {
      const id = name.challengeId
      const challenge = known && (await db.row(tryChallenge, { id, step: stage, now: clock.now(), maxTries }))
      const result = challenge && (await work(challenge))
      if (result !== undefined) return result
      await failed()
      if (challenge) recordFailedLogin({ userId: challenge.user_id, email: challenge.email, stage }, from)
      throw wrongCode()
    })
  }

  const start = async ({ email, password, redirectTo, sessionId }: Begun, from: From): Promise<CodeRequired> => {
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
      sessionId,
      method: 'credentials',
      step: 'code',
      codeHash: codes.hash(code, purposeOf(id)),
      redirectTo,
      at: clock.now(),
      expiresAt,
    })
    return { challengeId: id, email, expiresAt }
  }

  const resend = async (name: ChallengeName) => {
    const challenge = await live(name, 'code')
    // A new code does not give new tries, so it could not be used.
    if (!challenge || challenge.tries >= maxTries) throw wrongCode()
    await throttle.require(tooManyRequests, bucketOf('login-resend', challenge.user_id, 3))
    const { id } = challenge
    const code = codes.make()
    await mail(challenge.email, null, loginCodeMail(code))
    const expiresAt = soon()
    const codeHash = codes.hash(code, purposeOf(id))
    const replaced = await db.row(replaceChallengeCode, { id, codeHash, now: clock.now(), expiresAt, maxTries })
    if (!replaced) throw wrongCode()
    return { challengeId: id, email: challenge.email, expiresAt }
  }

  const code = <T extends object>(given: ChallengeName & { code: string }, from: From, done: AfterProof<T>) =>
    judge(given, 'code', from, async (challenge) => {
      const { id, user_id, code_hash } = challenge
      if (code_hash === null || !sameBytes(code_hash, codes.hash(given.code, purposeOf(id)))) return undefined
      return db.tx(async (tx) => {
        const account = await lockedAccount(tx, user_id)
        const expiresAt = soon()
        const hasFactor = account.totp_enabled_at !== null
        const moved = hasFactor
          ? await tx.row(askSecondFactor, { id, codeHash: code_hash, expiresAt })
          : await tx.row(endChallenge, { id, step: 'code', codeHash: code_hash, at: clock.now() })
        if (!moved) throw wrongCode()
        await confirmEmail.confirm(tx, account, actorFrom(user_id, from))
        return hasFactor ? { challengeId: id, expiresAt } : done(tx, account, challenge)
      })
    })

  const byFactor = <T extends object>(given: ChallengeName & { proof: FactorProof }, from: From, done: AfterProof<T>) =>
    judge(given, '2fa', from, (challenge) =>
      db.tx(async (tx) => {
        const { id, user_id } = challenge
        const account = await lockedAccount(tx, user_id)
        if (!(await secondFactor.use(tx, account, given.proof))) return undefined
        const ended = await tx.row(endChallenge, { id, step: '2fa', codeHash: null, at: clock.now() })
        if (!ended) throw wrongCode()
        const result = await done(tx, account, challenge)
        return { ...result, backupCodesLeft: await secondFactor.backupCodesLeft(tx, user_id) }
      }),
    )

  return {
    start,
    resend,
    /** Whether the mailed code is what the challenge waits for. */
    waitsForCode: async (name: ChallengeName) => (await live(name, 'code')) !== undefined,
    code,
    secondFactor: byFactor,
    /** The challenge of an account whose person a provider has proven. */
    askFactor: async (tx: Tx, userId: string, method: string, redirectTo: string) => {
      const at = clock.now()
      const challengeId = newId('challenge', at.getTime())
      const expiresAt = soon()
      const row = { id: challengeId, userId, sessionId: null, method, codeHash: null, redirectTo, at, expiresAt }
      await tx.change(insertChallenge, { ...row, step: '2fa' })
      return { challengeId, expiresAt }
    },
  }
}

export type LoginChallenges = ReturnType<typeof makeLoginChallenges>
