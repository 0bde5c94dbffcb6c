/** Opens the session once a person is proven, whichever way they signed in. */
import type { RecordPersonal } from '../../customers/accounts/personal-audit.ts'
import type { OpenedSession, Sessions } from '../../customers/accounts/sessions.ts'
import { judgeEnforcement, type SsoRequired } from '../../customers/accounts/sso-enforcement.ts'
import type { Actor } from '../../journal/audit/append.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { KnownDevices } from './known-devices.ts'
import { type AccountRow, findFilingOrg, listMemberships } from './store/user-rows.ts'

/** Where a request came from. `device` is the cookie of a browser that has signed in before. */
export type From = { ip: string | null; userAgent: string; device?: string | undefined }

export const actorFrom = (userId: string, { ip, userAgent }: From): Actor => ({ kind: 'user', userId, ip, userAgent })

export type SignedIn = {
  session: OpenedSession
  user: { id: string; email: string; name: string }
  /** The org that the dashboard shows first. */
  activeOrgId: string | null
  /** The browser remembers an active org that the user does not belong to, or that is closed to the session. */
  foreignOrg: boolean
  /** The cookie with which the browser is known to the account, if the person's own factors were proven. */
  device: string | undefined
}

export type SignInDetails = {
  /** `credentials`, or the id of a provider. */
  method: string
  from: From
  /** The active org that the browser remembers. */
  activeOrg: string | undefined
  /** The org whose identity provider has proven the person. */
  ssoOrgId?: string | null
}

/** Opens nothing for a person whose org wants them to use its identity provider. */
export type CompleteSignIn = (
  tx: Tx,
  account: Pick<AccountRow, 'id' | 'email' | 'name'>,
  details: SignInDetails,
) => Promise<SignedIn | SsoRequired>

type Needs = {
  sessions: Pick<Sessions, 'begin'>
  recordPersonal: RecordPersonal
  devices: Pick<KnownDevices, 'remember'>
}

export const makeCompleteSignIn =
  ({ sessions, recordPersonal, devices }: Needs): CompleteSignIn =>
  async (tx, { id, email, name }, { method, from, activeOrg, ssoOrgId = null }) => {
    const { required, breakGlass, closedOrgIds } = await judgeEnforcement(tx, id, ssoOrgId)
    if (required) return required
    const session = await sessions.begin(tx, id, { method, ssoOrgId, ip: from.ip, userAgent: from.userAgent })
    const orgs = (await tx.rows(listMemberships, { userId: id })).filter((org) => !closedOrgIds.has(org.id))
    const filing = await tx.row(findFilingOrg, { userId: id })
    await recordPersonal(tx, filing?.org_id ?? null, {
      userId: id,
      actor: actorFrom(id, from),
      action: 'user.login',
      metadata: { method, ...(breakGlass && { break_glass: true }) },
    })
    const remembered = orgs.find((org) => org.id === activeOrg)
    return {
      session,
      user: { id, email, name },
      activeOrgId: (remembered ?? orgs[0])?.id ?? null,
      foreignOrg: activeOrg !== undefined && remembered === undefined,
      // An org's identity provider can sign in as the person any time. It must not gain guesses of their password.
      device: ssoOrgId === null ? devices.remember(id, from.device) : undefined,
    }
  }
