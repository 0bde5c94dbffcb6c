/** The mailed link that lets the owner of an account sign in while others guess its password. */
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { sha256, sha256Hex } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { hourMs } from '../../platform/ground/units.ts'
import type { Background } from './background.ts'
import type { From } from './complete-sign-in.ts'
import type { HandOverMail } from './hand-over-mail.ts'
import type { KnownDevices } from './known-devices.ts'
import { unlockMail } from './mail-templates.ts'
import { newToken } from './sign-in-code.ts'
import { claimUnlockMail, insertUnlock, releaseUnlockMail, useUnlock } from './store/guess-rows.ts'
import { findAccount, findAccountByEmail } from './store/user-rows.ts'

/** Whose guesses are counted together. Addresses without an account are counted like others. */
type Subject = { email: string } | { device: string; userId: string } | { sessionsOf: string }

export const guessSubject = (subject: Subject): string => {
  if ('email' in subject) return sha256Hex(`email ${subject.email}`)
  if ('device' in subject) return sha256Hex(`device ${subject.userId} ${subject.device}`)
  return sha256Hex(`sessions ${subject.sessionsOf}`)
}

/** Longer than the time between two mails, so that the owner always has a link that works. */
const linkMs = 2 * hourMs

type Needs = StoreNeeds & {
  mail: HandOverMail
  background: Background
  devices: KnownDevices
  baseUrl: () => string
}

export const makeUnlockSignIn = ({ db, clock, mail, background, devices, baseUrl }: Needs) => {
  const mailLink = async (email: string): Promise<void> => {
    const account = await db.row(findAccountByEmail, { email })
    if (!account?.password_hash) return
    const subject = guessSubject({ email })
    const at = clock.now()
    if (!(await db.row(claimUnlockMail, { subject, at, since: new Date(at.getTime() - hourMs) }))) return
    const { token, hash } = newToken()
    try {
      const expiresAt = new Date(at.getTime() + linkMs)
      await db.change(insertUnlock, { tokenHash: hash, userId: account.id, at, expiresAt })
      // The mail comes last, so that its link works at once.
      await mail(email, account.default_org_id, unlockMail(baseUrl(), token))
    } catch (error) {
      await db.row(useUnlock, { tokenHash: hash, now: at })
      await db.change(releaseUnlockMail, { subject })
      throw error
    }
  }

  return {
    /** Mails a link after the response, at most once an hour, if there is such an account with a password. */
    mail: (email: string) => background.run('unlock link', () => mailLink(email)),
    /** Uses up the link. Returns the cookie that makes the browser known to the account. */
    use: async (token: string, from: From) => {
      const account = await db.tx(async (tx) => {
        const used = await tx.row(useUnlock, { tokenHash: sha256(token), now: clock.now() })
        const found = used && (await tx.row(findAccount, { userId: used.user_id }))
        if (!found) throw new Failure('INVALID_TOKEN')
        await tx.change(releaseUnlockMail, { subject: guessSubject({ email: found.email }) })
        return found
      })
      return devices.remember(account.id, from.device)
    },
  }
}

export type UnlockSignIn = ReturnType<typeof makeUnlockSignIn>
