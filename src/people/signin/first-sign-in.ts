/** A link that signs in the owner of the first org once. The first start outside production prints it. */
import { ssoRequired } from '../../customers/accounts/sso-enforcement.ts'
import type { StoreNeeds } from '../../platform/db/pool.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { writeSetting } from '../../platform/settings/store.ts'
import type { CompleteSignIn, SignInDetails } from './complete-sign-in.ts'
import { newToken } from './sign-in-code.ts'
import { useFirstLink } from './store/code-rows.ts'
import { findAccountByEmail, lockAccount } from './store/user-rows.ts'

const linkMinutes = 60

type Needs = StoreNeeds & { completeSignIn: CompleteSignIn; production: boolean }

export const makeFirstSignIn = ({ db, clock, completeSignIn, production }: Needs) => ({
  /** The path of a new link for this account. A former link stops to work. */
  makeLink: async (email: string) => {
    const account = await db.row(findAccountByEmail, { email })
    if (!account || production) throw new Error('A sign-in link is made only for an account, and never in production.')
    const { token, hash } = newToken()
    const at = clock.now()
    const value = {
      token_hash: hash.toString('hex'),
      user_id: account.id,
      expires_at: new Date(at.getTime() + linkMinutes * 60_000).toISOString(),
    }
    await db.change(writeSetting, { name: 'first_sign_in', value: JSON.stringify(value), at })
    return `/welcome?token=${token}`
  },
  enter: async (token: string, details: SignInDetails) => {
    if (production) throw new Failure('INVALID_TOKEN')
    const tokenHash = sha256(token).toString('hex')
    return db.tx(async (tx) => {
      const used = await tx.row(useFirstLink, { tokenHash, now: clock.now() })
      const account = used && (await tx.row(lockAccount, { userId: used.user_id }))
      // A link must not replace the second factor that the owner has set up since.
      if (!account || account.totp_enabled_at !== null) throw new Failure('INVALID_TOKEN')
      const done = await completeSignIn(tx, account, details)
      if ('ssoLoginUrl' in done) throw ssoRequired(done)
      return done
    })
  },
})

export type FirstSignIn = ReturnType<typeof makeFirstSignIn>
