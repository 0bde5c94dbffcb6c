/** Decides who may sign in without the identity provider of their org, and which orgs are open to a session. */
import type { Runner, Tx } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { findOrgAccess, listEnforcingOrgs, type OrgAccessRow } from './store/enforcement-rows.ts'

/** Where the person signs in instead. */
export type SsoRequired = { ssoLoginUrl: string }

const loginUrlOf = ({ slug, protocol }: Pick<OrgAccessRow, 'slug' | 'protocol'>): string =>
  `/api/auth/${protocol === 'oidc' ? 'sso' : 'saml'}/login?org=${slug}`

/** A person whom several enforcing orgs manage signs in through any of them, each for itself. */
export const judgeEnforcement = async (tx: Tx, userId: string, ssoOrgId: string | null) => {
  const enforcing = await tx.rows(listEnforcingOrgs, { userId })
  const held = enforcing.filter((org) => org.held)
  const managing = held.filter((org) => org.managed)
  const [first] = managing.some(({ org_id }) => org_id === ssoOrgId) ? [] : managing
  return {
    /** Set if an org that manages the person's address enforces single sign-on, and they did not use it. */
    required: first && { ssoLoginUrl: loginUrlOf(first) },
    /** An owner of an enforcing org signs in another way, which stays possible in an emergency. */
    breakGlass: ssoOrgId === null && enforcing.some(({ role }) => role === 'owner'),
    /** Orgs of the person that need their own identity provider and are closed to the new session. */
    closedOrgIds: new Set(held.map(({ org_id }) => org_id).filter((orgId) => orgId !== ssoOrgId)),
  }
}

export const ssoRequired = ({ ssoLoginUrl }: SsoRequired): Failure =>
  new Failure('SSO_REQUIRED', { extra: { login_url: ssoLoginUrl } })

export const stepUpRequired = (): Failure => new Failure('STEP_UP_REQUIRED')

const exemptionNeeded =
  'This organisation requires single sign-on, and its identity provider does not sign in addresses outside its domains. Ask an owner to exempt you.'

/** Why an org is closed to a session. Undefined if it is open. */
export const refusalOf = (access: OrgAccessRow): Failure | undefined => {
  const login_url = loginUrlOf(access)
  switch (access.closed) {
    case 'sso':
      return ssoRequired({ ssoLoginUrl: login_url })
    case 'exemption':
      return new Failure('SSO_REQUIRED', {
        flatMessage: exemptionNeeded,
        extra: { login_url, exemption_needed: true },
      })
    case 'step_up':
      return stepUpRequired()
    case null:
      return undefined
  }
}

/** Refuses an org that is closed to the session. Nothing happens for an org that the user does not belong to. */
export const assertOpenTo = async (
  runner: Pick<Runner, 'row'>,
  { userId, sessionId }: { userId: string; sessionId: string },
  orgId: string,
): Promise<void> => {
  const access = await runner.row(findOrgAccess, { orgId, userId, sessionId })
  const refusal = access && refusalOf(access)
  if (refusal) throw refusal
}
