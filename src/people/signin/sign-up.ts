/** Registration, and the verification of the address with the mailed code. */
import type { Passwords } from '../../customers/accounts/passwords.ts'
import type { Db, StoreNeeds, Tx } from '../../platform/db/pool.ts'
import { sameBytes, sha256 } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Background } from './background.ts'
import { actorFrom, type CompleteSignIn, type From } from './complete-sign-in.ts'
import type { ConfirmEmail } from './confirm-email.ts'
import type { HandOverMail } from './hand-over-mail.ts'
import { accountExistsMail, verifyEmailMail } from './mail-templates.ts'
import { checkPassword } from './password-rule.ts'
import { type Codes, maxTries, newToken } from './sign-in-code.ts'
import { putCode, tryCode, useCode } from './store/code-rows.ts'
import {
  type AccountRow,
  findAccountByEmail,
  insertAccount,
  lockAccount,
  replaceRegistration,
} from './store/user-rows.ts'
import { addressBuckets, bucketOf, type Throttle, tooManyRequests } from './throttle.ts'

const codeMinutes = 30
export const pendingSeconds = codeMinutes * 60

export type Registration = {
  email: string
  password: string
  name: string
  orgName: string | null
  inviteToken: string | null
}

type EmailCode = { email: string; code: string; pending: string | undefined; activeOrg: string | undefined }

type Needs = StoreNeeds & {
  log: Log
  passwords: Passwords
  codes: Codes
  throttle: Throttle
  mail: HandOverMail
  background: Background
  confirmEmail: ConfirmEmail
  completeSignIn: CompleteSignIn
  baseUrl: () => string
}

const invalidCode = (): Failure => new Failure('INVALID_CODE')

export const codePurpose = (userId: string): string => `email ${userId}`

/** Stores the account, or replaces what an unverified one was registered with. Undefined if it was verified meanwhile. */
const makeStoreAccount = ({ clock, log, confirmEmail }: Needs) => {
  const insert = async (tx: Tx, given: Registration, passwordHash: string, from: From) => {
    const at = clock.now()
    const id = newId('user', at.getTime())
    const orgName = given.orgName ?? `${given.name}'s organisation`.slice(0, 80)
    const inserted = await tx.row(insertAccount, {
      id,
      email: given.email,
      name: given.name,
      passwordHash,
      verifiedAt: null,
      pendingOrgName: orgName,
      pendingInviteHash: given.inviteToken === null ? null : sha256(given.inviteToken),
      at,
    })
    if (!inserted) return undefined
    // An invited newcomer joins an org at verification, and their registration is recorded there.
    if (given.inviteToken === null) await confirmEmail.giveOrg(tx, id, orgName, actorFrom(id, from))
    else tx.afterCommit(() => log.info({ action: 'user.registered', user_id: id }, 'action of a user without an org'))
    return id
  }
  return async (tx: Tx, known: AccountRow | undefined, given: Registration, passwordHash: string, from: From) => {
    if (!known) return insert(tx, given, passwordHash, from)
    const replaced = await tx.row(replaceRegistration, {
      userId: known.id,
      name: given.name,
      passwordHash,
      pendingInviteHash: given.inviteToken === null ? null : sha256(given.inviteToken),
      at: clock.now(),
    })
    return replaced?.id
  }
}

export const makeRegister = (needs: Needs) => {
  const { db, clock, passwords, codes, throttle, mail, background, confirmEmail, completeSignIn, baseUrl } = needs
  const storeAccount = makeStoreAccount(needs)

  const storeCode = (tx: Tx | Db, userId: string, email: string, code: string, browserHash: Buffer | null) => {
    const at = clock.now()
    return tx.change(putCode, {
      userId,
      channel: 'email',
      destination: email,
      codeHash: codes.hash(code, codePurpose(userId)),
      browserHash,
      at,
      expiresAt: new Date(at.getTime() + codeMinutes * 60_000),
    })
  }

  /** Runs after the response. An account that appears between the look and the insert is found at the second look. */
  const settle = async (given: Registration, passwordHash: string, browserHash: Buffer, from: From): Promise<void> => {
    for (let tries = 0; tries < 2; tries++) {
      const known = await db.row(findAccountByEmail, { email: given.email })
      if (known?.email_verified_at) return mail(given.email, known.default_org_id, accountExistsMail(baseUrl()))
      const code = codes.make()
      const stored = await db.tx(async (tx) => {
        const userId = await storeAccount(tx, known, given, passwordHash, from)
        if (userId !== undefined) await storeCode(tx, userId, given.email, code, browserHash)
        return userId !== undefined
      })
      // The mail comes last, so that its code works at once.
      if (stored) return mail(given.email, known?.default_org_id ?? null, verifyEmailMail(code))
    }
  }

  const register = async (given: Registration, from: From) => {
    checkPassword(given.password, given.email, 'password')
    const pending = newToken()
    const mayMail = await throttle.allows(
      bucketOf('register', given.email, 3),
      ...addressBuckets('register-ip', from.ip, 20),
    )
    if (!mayMail) return pending.token
    // After the counts, which cost little: a flood of registrations is not hashed.
    const passwordHash = await passwords.hash(given.password, from.ip)
    // Asked before the response for the sake of its errors. What it finds must not show in the time of the response.
    await db.row(findAccountByEmail, { email: given.email })
    background.run('registration', () => settle(given, passwordHash, pending.hash, from))
    return pending.token
  }

  const verifyEmail = async ({ email, code, pending, activeOrg }: EmailCode, from: From) => {
    return throttle.attempt({ email, ip: from.ip }, async (failed) => {
      const account = await db.row(findAccountByEmail, { email })
      const sent = account && ({ userId: account.id, channel: 'email', destination: email } as const)
      const tried = sent && (await db.row(tryCode, { ...sent, now: clock.now(), maxTries }))
      if (!account || !tried || !sameBytes(tried.code_hash, codes.hash(code, codePurpose(account.id)))) {
        await failed()
        throw invalidCode()
      }
      const here =
        pending !== undefined && tried.browser_hash !== null && sameBytes(tried.browser_hash, sha256(pending))
      return await db.tx(async (tx) => {
        const used = await tx.row(useCode, { userId: account.id, channel: 'email', codeHash: tried.code_hash })
        const locked = used && (await tx.row(lockAccount, { userId: account.id }))
        if (!locked) throw invalidCode()
        await confirmEmail.confirm(tx, locked, actorFrom(account.id, from))
        if (!here) return undefined
        const done = await completeSignIn(tx, locked, { method: 'credentials', from, activeOrg })
        // The address is verified either way.
        return 'session' in done ? done : undefined
      })
    })
  }

  return {
    /**
     * Returns the value of the pending cookie. Nothing that the caller sees depends on whether the address is known, nor does
     * the work before the response, which its time would show.
     */
    register,
    /** Signs in only in the browser that registered. */
    verifyEmail,
    /** Mails a new code to an account that is not verified, after the response. */
    resend: async (email: string) => {
      await throttle.require(tooManyRequests, bucketOf('resend-email', email, 3))
      background.run('verification resend', async () => {
        const account = await db.row(findAccountByEmail, { email })
        if (!account || account.email_verified_at) return
        const code = codes.make()
        await mail(email, account.default_org_id, verifyEmailMail(code))
        await storeCode(db, account.id, email, code, null)
      })
    },
  }
}

export type Register = ReturnType<typeof makeRegister>
