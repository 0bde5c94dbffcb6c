/** Forgotten, reset and changed passwords. */
import type { EndProgramAccess } from '../../customers/accounts/manage-sessions.ts'
import type { Passwords } from '../../customers/accounts/passwords.ts'
import type { RecordPersonal } from '../../customers/accounts/personal-audit.ts'
import {
  endAllSessions,
  endSessions,
  keepSession,
  raiseSessionVersion,
} from '../../customers/accounts/store/session-rows.ts'
import type { StoreNeeds, Tx } from '../../platform/db/pool.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Background } from './background.ts'
import { actorFrom, type From } from './complete-sign-in.ts'
import type { HandOverMail } from './hand-over-mail.ts'
import type { KnownDevices } from './known-devices.ts'
import { passwordChangedMail, resetPasswordMail } from './mail-templates.ts'
import { checkPassword } from './password-rule.ts'
import type { ProvePassword } from './prove-password.ts'
import type { Owner } from './second-factor.ts'
import { newToken } from './sign-in-code.ts'
import { dropChallenges } from './store/challenge-rows.ts'
import { dropResets, findReset, insertReset, useReset } from './store/code-rows.ts'
import { type AccountRow, findAccount, findAccountByEmail, findFilingOrg, setPassword } from './store/user-rows.ts'
import { bucketOf, type Throttle } from './throttle.ts'

const linkMinutes = 60

type Needs = StoreNeeds & {
  passwords: Passwords
  provePassword: Pick<ProvePassword, 'inSession'>
  devices: Pick<KnownDevices, 'remember'>
  throttle: Throttle
  mail: HandOverMail
  background: Background
  recordPersonal: RecordPersonal
  endPrograms: EndProgramAccess
  baseUrl: () => string
}

export const makeChangePassword = (needs: Needs) => {
  const { db, clock, passwords, provePassword, devices, throttle, mail, background } = needs
  const { recordPersonal, endPrograms, baseUrl } = needs

  const announce = ({ email, default_org_id: orgId }: AccountRow): void =>
    background.run('password notice', () => mail(email, orgId, passwordChangedMail(baseUrl())))

  /** Stores the password and voids everything that the former one, or its reset, could still open. */
  const store = async (tx: Tx, userId: string, passwordHash: string, from: From): Promise<number> => {
    const at = clock.now()
    await tx.change(setPassword, { userId, passwordHash, at })
    const raised = await tx.row(raiseSessionVersion, { userId, at })
    await tx.change(dropChallenges, { userId })
    await tx.change(dropResets, { userId })
    await endPrograms(tx, actorFrom(userId, from), { userId, orgId: null })
    return raised?.session_version ?? 0
  }

  const mailLink = async (email: string): Promise<void> => {
    if (!(await throttle.allows(bucketOf('forgot', email, 3)))) return
    const account = await db.row(findAccountByEmail, { email })
    if (!account) return
    const { token, hash } = newToken()
    await mail(email, account.default_org_id, resetPasswordMail(baseUrl(), token))
    const at = clock.now()
    const expiresAt = new Date(at.getTime() + linkMinutes * 60_000)
    await db.change(insertReset, { tokenHash: hash, userId: account.id, at, expiresAt })
  }

  const reset = async ({ token, password }: { token: string; password: string }, from: From) => {
    const tokenHash = sha256(token)
    const known = await db.row(findReset, { tokenHash, now: clock.now() })
    if (!known) throw new Failure('INVALID_TOKEN')
    checkPassword(password, known.email, 'password')
    const passwordHash = await passwords.hash(password, from.ip)
    const account = await db.tx(async (tx) => {
      const used = await tx.row(useReset, { tokenHash, now: clock.now() })
      const found = used && (await tx.row(findAccount, { userId: used.user_id }))
      if (!found) throw new Failure('INVALID_TOKEN')
      const userId = found.id
      await store(tx, userId, passwordHash, from)
      await tx.change(endAllSessions, { userId })
      const filing = await tx.row(findFilingOrg, { userId })
      const entry = { userId, actor: actorFrom(userId, from), action: 'user.password_reset' } as const
      await recordPersonal(tx, filing?.org_id ?? null, entry)
      return found
    })
    announce(account)
    return devices.remember(account.id, from.device)
  }

  const change = async (
    { userId, sessionId, orgId }: Owner & { sessionId: string },
    { current, next }: { current: string; next: string },
    from: From,
  ) => {
    const account = await db.row(findAccount, { userId })
    if (!account) throw new Failure('UNAUTHORIZED')
    checkPassword(next, account.email, 'new_password')
    if (!(await provePassword.inSession(account, current, from))) throw new Failure('CONFIRMATION_FAILED')
    const passwordHash = await passwords.hash(next, from.ip)
    await db.tx(async (tx) => {
      const version = await store(tx, userId, passwordHash, from)
      await tx.rows(endSessions, { userId, id: null, butId: sessionId, providerOrgId: null })
      await tx.change(keepSession, { userId, id: sessionId, version })
      const actor = actorFrom(userId, from)
      await recordPersonal(tx, orgId, { userId, actor, action: 'user.password_reset', metadata: { via: 'settings' } })
    })
    announce(account)
  }

  return {
    /** Mails a link after the response, if there is such an account. */
    forgot: (email: string) => background.run('password link', () => mailLink(email)),
    /** Returns the cookie that makes the browser known to the account: the mailed link has proven the person. */
    reset,
    change,
  }
}

export type ChangePassword = ReturnType<typeof makeChangePassword>
