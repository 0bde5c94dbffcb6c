/** The second factor of an account: set-up, backup codes, and the check of a code. */
import type { RecordPersonal } from '../../customers/accounts/personal-audit.ts'
import type { Actor } from '../../journal/audit/append.ts'
import type { StoreNeeds, Tx } from '../../platform/db/pool.ts'
import type { Vault } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { actorFrom, type From } from './complete-sign-in.ts'
import type { ProvePassword } from './prove-password.ts'
import { type Codes, newBackupCode, plainBackupCode } from './sign-in-code.ts'
import {
  countBackupCodes,
  disableTotp,
  dropBackupCodes,
  enableTotp,
  insertBackupCodes,
  setPendingSecret,
  useBackupCode,
  useTotpStep,
} from './store/factor-rows.ts'
import { type AccountRow, findAccount } from './store/user-rows.ts'
import type { Throttle } from './throttle.ts'
import { newTotpSecret, totpSetup, totpStep } from './totp.ts'

export type FactorProof = { code?: string | undefined; backupCode?: string | undefined }
export type Owner = { userId: string; orgId: string | null }

type Needs = StoreNeeds & {
  vault: Vault
  codes: Codes
  provePassword: Pick<ProvePassword, 'inSession'>
  throttle: Throttle
  recordPersonal: RecordPersonal
}

const backupCodes = 10

const backupPurpose = (userId: string): string => `backup ${userId}`

const secretContext = (userId: string): string => `users ${userId} totp_secret`

export const makeSecondFactor = (needs: Needs) => {
  const { db, clock, vault, codes, provePassword, throttle, recordPersonal } = needs

  const accountOf = async (userId: string): Promise<AccountRow> => {
    const account = await db.row(findAccount, { userId })
    if (!account) throw new Failure('UNAUTHORIZED')
    return account
  }

  const enabledAccount = async (userId: string): Promise<AccountRow> => {
    const account = await accountOf(userId)
    if (account.totp_enabled_at === null) throw new Failure('TWO_FACTOR_NOT_ENABLED')
    return account
  }

  const stepOf = (account: AccountRow, sealed: string | null, code: string): number | undefined =>
    sealed === null ? undefined : totpStep(vault.open(sealed, secretContext(account.id)), code, clock.millis())

  const use = async (tx: Tx, account: AccountRow, { code, backupCode }: FactorProof) => {
    if (backupCode !== undefined) {
      const hashes = codes.hashes(plainBackupCode(backupCode), backupPurpose(account.id))
      return (await tx.row(useBackupCode, { userId: account.id, hashes, at: clock.now() })) !== undefined
    }
    const step = code === undefined ? undefined : stepOf(account, account.totp_secret, code)
    return step !== undefined && (await tx.row(useTotpStep, { userId: account.id, step })) !== undefined
  }

  const issueBackupCodes = async (tx: Tx, userId: string): Promise<string[]> => {
    const fresh = Array.from({ length: backupCodes }, newBackupCode)
    await tx.change(dropBackupCodes, { userId })
    const hashes = fresh.map((code) => codes.hash(plainBackupCode(code), backupPurpose(userId)))
    await tx.change(insertBackupCodes, { userId, hashes, at: clock.now() })
    return fresh
  }

  /** Runs a change that needs a code. Wrong codes count like failed sign-ins, so that a stolen session cannot guess. */
  const proven = async <T>(account: AccountRow, from: From, work: () => Promise<T>): Promise<T> => {
    return throttle.attempt({ email: account.email, ip: from.ip }, (failed) =>
      work().catch(async (error: unknown) => {
        if (error instanceof Failure && error.code === 'INVALID_CODE') await failed()
        throw error
      }),
    )
  }

  const record = (tx: Tx, { userId, orgId }: Owner, actor: Actor, action: 'user.2fa_enabled' | 'user.2fa_disabled') =>
    recordPersonal(tx, orgId, { userId, actor, action })

  return {
    /** Whether the proof is right. A right one is used up. */
    use,
    backupCodesLeft: async (tx: Tx, userId: string) => (await tx.row(countBackupCodes, { userId }))?.left ?? 0,
    status: async (userId: string) => ({
      enabledAt: (await accountOf(userId)).totp_enabled_at,
      backupCodesLeft: (await db.row(countBackupCodes, { userId }))?.left ?? 0,
    }),
    setup: async (userId: string) => {
      const account = await accountOf(userId)
      const secret = newTotpSecret()
      const sealed = vault.seal(secret, secretContext(userId))
      const stored = await db.row(setPendingSecret, { userId, sealed, at: clock.now() })
      if (!stored) throw new Failure('TWO_FACTOR_ENABLED')
      return { secret, ...totpSetup(secret, account.email) }
    },
    /** Returns the backup codes, which are shown this once. */
    enable: async (owner: Owner, code: string, from: From) => {
      const account = await accountOf(owner.userId)
      if (account.totp_enabled_at !== null) throw new Failure('TWO_FACTOR_ENABLED')
      return proven(account, from, async () => {
        const sealed = account.totp_pending_secret
        const step = stepOf(account, sealed, code)
        if (sealed === null || step === undefined) throw new Failure('INVALID_CODE')
        return db.tx(async (tx) => {
          const enabled = await tx.row(enableTotp, { userId: account.id, sealed, step, at: clock.now() })
          if (!enabled) throw new Failure('TWO_FACTOR_ENABLED')
          await record(tx, owner, actorFrom(account.id, from), 'user.2fa_enabled')
          return issueBackupCodes(tx, account.id)
        })
      })
    },
    disable: async (
      owner: Owner,
      { password, ...proof }: FactorProof & { password?: string | undefined },
      from: From,
    ) => {
      const account = await enabledAccount(owner.userId)
      const turnOff = (isProven: (tx: Tx) => Promise<boolean>): Promise<void> =>
        db.tx(async (tx) => {
          if (!(await isProven(tx))) throw new Failure('INVALID_CODE')
          if (!(await tx.row(disableTotp, { userId: account.id, at: clock.now() }))) {
            throw new Failure('TWO_FACTOR_NOT_ENABLED')
          }
          await tx.change(dropBackupCodes, { userId: account.id })
          await record(tx, owner, actorFrom(account.id, from), 'user.2fa_disabled')
        })
      if (password === undefined) return proven(account, from, () => turnOff((tx) => use(tx, account, proof)))
      if (!(await provePassword.inSession(account, password, from))) throw new Failure('CONFIRMATION_FAILED')
      await turnOff(async () => true)
    },
    replaceBackupCodes: async (owner: Owner, code: string, from: From) => {
      const account = await enabledAccount(owner.userId)
      return proven(account, from, () =>
        db.tx(async (tx) => {
          if (!(await use(tx, account, { code }))) throw new Failure('INVALID_CODE')
          return issueBackupCodes(tx, account.id)
        }),
      )
    },
  }
}

export type SecondFactor = ReturnType<typeof makeSecondFactor>
