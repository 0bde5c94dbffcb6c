/** Gives an account that was never verified to the person who has now proven its address. */
import { endAllSessions, raiseSessionVersion } from '../accounts/store/session-rows.ts'
import type { Actor } from '../audit/append.ts'
import type { Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import type { ConfirmEmail } from './confirm-email.ts'
import { dropChallenges } from './store/challenge-rows.ts'
import { dropCodes, dropResets } from './store/code-rows.ts'
import { type AccountRow, changeProfile, setPassword } from './store/user-rows.ts'

/** The person who registered the address without proving it loses every way in. */
export type TakeOverAccount = (tx: Tx, account: AccountRow, name: string, actor: Actor) => Promise<void>

type Needs = { clock: Clock; confirmEmail: ConfirmEmail }

export const makeTakeOverAccount =
  ({ clock, confirmEmail }: Needs): TakeOverAccount =>
  async (tx, account, name, actor) => {
    const userId = account.id
    const at = clock.now()
    await tx.change(setPassword, { userId, passwordHash: null, at })
    await tx.row(raiseSessionVersion, { userId, at })
    await tx.change(endAllSessions, { userId })
    await tx.change(dropCodes, { userId })
    await tx.change(dropChallenges, { userId })
    await tx.change(dropResets, { userId })
    await tx.row(changeProfile, { userId, name, defaultOrgId: null, at })
    await confirmEmail.confirm(tx, account, actor)
  }
