/** Enforced single sign-on, as sign-in, sessions and memberships see it. */
import { statement } from '../../../platform/db/statement.ts'

/** In these conditions, `o` is an org, `m` a membership in it, `u` its user and `s` a session of that user. */

/** The org has proven the domain of the user's address. Only then does its identity provider sign the user in. */
export const isManaged = `exists (
  select from org_email_domains d
  where d.org_id = o.id and d.domain = split_part(u.email, '@', 2) and d.verified_at is not null)`

/** The member needs the identity provider of the org. */
export const isHeld = `(o.sso_enforced and m.role <> 'owner' and not m.sso_exempt)`

/**
 * Why the org is closed to the session, or null. `sso`: it needs the org's own identity provider. `exemption`: that provider
 * does not sign in this address. `step_up`: another org's identity provider opened the session.
 */
export const closedBecause = `case
  when ${isHeld} and s.sso_org_id is distinct from o.id
    then case when ${isManaged} then 'sso' else 'exemption' end
  when s.sso_org_id <> o.id and s.stepped_up_at is null then 'step_up'
end`

/**
 * A grant of the member is open: the org does not hold them to its identity provider, or they have used it since the org
 * began to enforce it. Sessions count too, because processes of an earlier release record nothing else.
 */
export const isVouched = `(not ${isHeld}
  or m.sso_signed_in_at >= coalesce(o.sso_enforced_at, '-infinity')
  or exists (
    select from sessions vs
    where vs.user_id = m.user_id and vs.sso_org_id = o.id
      and vs.created_at >= coalesce(o.sso_enforced_at, '-infinity')))`

type EnforcingOrg = {
  org_id: string
  slug: string
  protocol: string | null
  role: string
  held: boolean
  managed: boolean
}

/** The orgs of a user that enforce single sign-on, the oldest membership first. */
export const listEnforcingOrgs = statement<{ userId: string }, EnforcingOrg>(
  'accounts.list_enforcing_orgs',
  `select o.id as org_id, o.slug, c.protocol, m.role, ${isHeld} as held, ${isManaged} as managed
   from memberships m
   join users u on u.id = m.user_id
   join orgs o on o.id = m.org_id
   left join sso_connections c on c.org_id = o.id
   where m.user_id = :userId and o.sso_enforced
   order by m.created_at, m.id
   limit 1000`,
)

export type ClosedBecause = 'sso' | 'exemption' | 'step_up'

export type OrgAccessRow = { closed: ClosedBecause | null; slug: string; protocol: string | null }

/** Whether an org of the user is open to a session. Returns no row if the user does not belong to the org. */
export const findOrgAccess = statement<{ orgId: string; userId: string; sessionId: string }, OrgAccessRow>(
  'accounts.find_org_access',
  `select ${closedBecause} as closed, o.slug, c.protocol
   from memberships m
   join users u on u.id = m.user_id
   join orgs o on o.id = m.org_id
   join sessions s on s.user_id = m.user_id and s.id = :sessionId
   left join sso_connections c on c.org_id = o.id
   where m.org_id = :orgId and m.user_id = :userId`,
)

/** Ends the sessions of people whom the org manages, and who may now sign in only through its identity provider. */
export const endSessionsOutsideSso = statement<{ orgId: string }, { id: string }>(
  'accounts.end_sessions_outside_sso',
  `delete from sessions s using memberships m, orgs o, users u
   where m.org_id = :orgId and o.id = :orgId and u.id = m.user_id and s.user_id = m.user_id
     and s.sso_org_id is null and ${isHeld} and ${isManaged}
   returning s.id`,
)

/** Ends the sessions that the identity provider of the org opened for a person who leaves it. */
export const endSessionsOfProvider = statement<{ orgId: string; userId: string }>(
  'accounts.end_sessions_of_provider',
  'delete from sessions where user_id = :userId and sso_org_id = :orgId',
)

/** Members who would lose the org if it enforced single sign-on, because it does not manage their address. */
export const countOutsideDomains = statement<{ orgId: string }, { n: number }>(
  'accounts.count_outside_domains',
  `select count(*)::int as n
   from memberships m join users u on u.id = m.user_id join orgs o on o.id = m.org_id
   where m.org_id = :orgId and m.role <> 'owner' and not m.sso_exempt and not ${isManaged}`,
)
