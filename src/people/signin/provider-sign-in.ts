/** Signs in the person whom a provider has proven: finds, takes over or makes the account of their address. */
import type { StoreNeeds, Tx } from '../../platform/db/pool.ts'
import { newId } from '../../platform/ground/ids.ts'
import { comparableAddress } from '../../platform/ground/mailbox.ts'
import { actorFrom, type CompleteSignIn, type SignInDetails } from './complete-sign-in.ts'
import type { ConfirmEmail, TakeOverAccount } from './confirm-email.ts'
import type { LoginChallenges } from './login-challenges.ts'
import type { ProviderIdentity } from './providers/sign-in-provider.ts'
import { findIdentity, insertIdentity } from './store/factor-rows.ts'
import { findAccountByEmail, insertAccount, lockAccount } from './store/user-rows.ts'

type Needs = StoreNeeds & {
  confirmEmail: ConfirmEmail
  takeOver: TakeOverAccount
  completeSignIn: CompleteSignIn
  challenges: Pick<LoginChallenges, 'askFactor'>
}

type Proven = ProviderIdentity & { verifiedEmail: string }

/** The name that a provider gives, as an account can have it. */
export const accountName = (name: string, email: string): string =>
  name
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, 80) || (email.split('@')[0] as string)

type Verified = { email: string; name: string; at: Date }

/** Makes an account without a password and returns its id. Undefined if the address is taken. */
export const insertVerified = async (tx: Tx, { email, name, at }: Verified): Promise<string | undefined> => {
  const row = { id: newId('user', at.getTime()), email, name, passwordHash: null, verifiedAt: at, at }
  return (await tx.row(insertAccount, { ...row, pendingOrgName: null, pendingInviteHash: null }))?.id
}

const nameOf = ({ name, verifiedEmail }: Proven): string => accountName(name, verifiedEmail)

/** Undefined when the provider does not vouch for an address. */
export const makeProviderSignIn = (needs: Needs) => {
  const { db, clock, confirmEmail, takeOver, completeSignIn, challenges } = needs

  const create = async (tx: Tx, proven: Proven, details: SignInDetails): Promise<string | undefined> => {
    const name = nameOf(proven)
    const id = await insertVerified(tx, { email: proven.verifiedEmail, name, at: clock.now() })
    if (id === undefined) return undefined
    await confirmEmail.giveOrg(tx, id, `${name}'s organisation`.slice(0, 80), actorFrom(id, details.from))
    return id
  }

  const userOf = async (tx: Tx, proven: Proven, details: SignInDetails): Promise<string> => {
    const { issuer, subject, verifiedEmail: email } = proven
    const linked = await tx.row(findIdentity, { issuer, subject })
    if (linked) return linked.user_id
    const known = await tx.row(findAccountByEmail, { email })
    // Another request may make the account between the look and the insert.
    const created = known ? undefined : await create(tx, proven, details)
    const userId = known?.id ?? created ?? (await tx.row(findAccountByEmail, { email }))?.id
    if (userId === undefined) throw new Error('an account disappeared during sign-in')
    const account = await tx.row(lockAccount, { userId })
    if (account?.email_verified_at === null) {
      await takeOver(tx, account, nameOf(proven), actorFrom(userId, details.from))
    }
    await tx.change(insertIdentity, { issuer, subject, userId, at: clock.now() })
    return userId
  }

  return async (identity: ProviderIdentity, details: SignInDetails & { redirectTo: string }) => {
    const email = identity.verifiedEmail === undefined ? undefined : comparableAddress(identity.verifiedEmail)
    if (email === undefined) return undefined
    return db.tx(async (tx) => {
      const userId = await userOf(tx, { ...identity, verifiedEmail: email }, details)
      const account = await tx.row(lockAccount, { userId })
      if (!account) throw new Error('an account disappeared during sign-in')
      const { method, redirectTo } = details
      if (account.totp_enabled_at !== null) return challenges.askFactor(tx, userId, method, redirectTo)
      return { ...(await completeSignIn(tx, account, details)), redirectTo }
    })
  }
}

export type ProviderSignIn = ReturnType<typeof makeProviderSignIn>
