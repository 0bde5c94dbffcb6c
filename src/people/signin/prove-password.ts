/**
 * Every check of an account's password, with the limits on guessing it. Guesses are counted per client address, and per
 * account from all addresses together. Strangers who guess cannot keep the owner out: browsers that are known to the
 * account and signed-in sessions have counts of their own.
 */
import type { Passwords } from '../../customers/accounts/passwords.ts'
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { hourMs } from '../../platform/ground/units.ts'
import type { From } from './complete-sign-in.ts'
import type { KnownDevices } from './known-devices.ts'
import { countGuess, findOldestGuess, takeBackGuess } from './store/guess-rows.ts'
import { type AccountRow, findAccountByEmail } from './store/user-rows.ts'
import { type Throttle, tooManyAttempts } from './throttle.ts'
import { guessSubject, type UnlockSignIn } from './unlock-sign-in.ts'

const perHour = 50

type Needs = StoreNeeds & {
  passwords: Passwords
  throttle: Throttle
  devices: KnownDevices
  unlock: Pick<UnlockSignIn, 'mail'>
}

export const makeProvePassword = ({ db, clock, passwords, throttle, devices, unlock }: Needs) => {
  /** Counted before the comparison, so that guesses at the same time cannot exceed the limit. */
  const compare = async (
    subject: string,
    stored: string | null,
    password: string,
    ip: string | null,
  ): Promise<'right' | 'wrong' | { blockedUntil: number }> => {
    const at = clock.now()
    const since = new Date(at.getTime() - hourMs)
    if (!(await db.row(countGuess, { subject, at, since, limit: perHour }))) {
      const row = await db.row(findOldestGuess, { subject, since })
      return { blockedUntil: (row?.oldest ?? at).getTime() + hourMs }
    }
    let outcome: 'right' | 'wrong' | undefined
    try {
      outcome = (await passwords.matches(stored, password, ip)) ? 'right' : 'wrong'
      return outcome
    } finally {
      if (outcome !== 'wrong') await db.change(takeBackGuess, { subject, at })
    }
  }

  const secondsUntil = (instant: number): number => (instant - clock.millis()) / 1_000

  return {
    /** Of someone who signs in. Nothing that the caller sees may depend on `account` unless the password is right. */
    atSignIn: async ({ email, password }: { email: string; password: string }, from: From) => {
      return throttle.attempt({ email, ip: from.ip }, async (failed) => {
        const account = await db.row(findAccountByEmail, { email })
        // The same work without an account. No browser is known to nobody.
        const userId = account?.id ?? 'nobody'
        const device = devices.find(userId, from.device)
        const subject = guessSubject(device === undefined ? { email } : { device, userId })
        const outcome = await compare(subject, account?.password_hash ?? null, password, from.ip)
        if (typeof outcome === 'object') {
          unlock.mail(email)
          throw new Failure('UNLOCK_REQUIRED', { retryAfter: secondsUntil(outcome.blockedUntil) })
        }
        if (outcome === 'wrong') await failed()
        return { right: outcome === 'right', account }
      })
    },
    /** Of someone who is signed in and proves the password again. */
    inSession: async (
      { id, email, password_hash: stored }: Pick<AccountRow, 'id' | 'email' | 'password_hash'>,
      password: string,
      { ip }: Pick<From, 'ip'>,
    ) => {
      return throttle.attempt({ email, ip }, async (failed) => {
        const outcome = await compare(guessSubject({ sessionsOf: id }), stored, password, ip)
        if (typeof outcome === 'object') {
          const retryAfter = secondsUntil(outcome.blockedUntil)
          throw new Failure('RATE_LIMITED', { message: tooManyAttempts, retryAfter })
        }
        if (outcome === 'wrong') await failed()
        return outcome === 'right'
      })
    },
  }
}

export type ProvePassword = ReturnType<typeof makeProvePassword>
