/** Decides whether a person may be signed in without the identity provider of their org. */
import type { Tx } from '../db/pool.ts'
import { Failure } from '../ground/errors.ts'
import { type EnforcingOrg, findEnforcingOrg, listEnforcingOrgs } from './store/enforcement-rows.ts'

/** Where the person signs in instead. */
export type SsoRequired = { ssoLoginUrl: string }

export type Enforcement = {
  /** Set if an org of the person enforces single sign-on, they are not its owner, and they did not use it. */
  required: SsoRequired | undefined
  /** An owner of an enforcing org signs in another way, which stays possible in an emergency. */
  breakGlass: boolean
}

const loginUrlOf = ({ slug, protocol }: Pick<EnforcingOrg, 'slug' | 'protocol'>): string =>
  `/api/auth/${protocol === 'oidc' ? 'sso' : 'saml'}/login?org=${slug}`

/**
 * A person in several enforcing orgs signs in through any of them. Otherwise two orgs with different identity providers
 * would lock each other's members out.
 */
export const judgeEnforcement = async (tx: Tx, userId: string, ssoOrgId: string | null): Promise<Enforcement> => {
  const enforcing = await tx.rows(listEnforcingOrgs, { userId })
  const satisfied = enforcing.some(({ org_id }) => org_id === ssoOrgId)
  const holding = satisfied ? undefined : enforcing.find(({ role }) => role !== 'owner')
  return {
    required: holding && { ssoLoginUrl: loginUrlOf(holding) },
    breakGlass: !satisfied && holding === undefined && enforcing.length > 0,
  }
}

export const ssoRequired = ({ ssoLoginUrl }: SsoRequired): Failure =>
  new Failure('SSO_REQUIRED', { extra: { login_url: ssoLoginUrl } })

/** Refuses to make someone a member of an org that wants its members to come through its identity provider. */
export const refuseMembershipOutsideSso = async (tx: Tx, orgId: string): Promise<void> => {
  const enforcing = await tx.row(findEnforcingOrg, { orgId })
  if (enforcing) throw ssoRequired({ ssoLoginUrl: loginUrlOf(enforcing) })
}
