/** Enforced single sign-on, as sign-in and memberships see it. */
import { statement } from '../../db/statement.ts'

export type EnforcingOrg = { org_id: string; slug: string; protocol: string | null; role: string }

/** The orgs of a user that enforce single sign-on, the oldest membership first. */
export const listEnforcingOrgs = statement<{ userId: string }, EnforcingOrg>(
  'accounts.list_enforcing_orgs',
  `select o.id as org_id, o.slug, c.protocol, m.role
   from memberships m
   join orgs o on o.id = m.org_id
   left join sso_connections c on c.org_id = o.id
   where m.user_id = :userId and o.sso_enforced
   order by m.created_at, m.id
   limit 1000`,
)

export const findEnforcingOrg = statement<{ orgId: string }, Omit<EnforcingOrg, 'role'>>(
  'accounts.find_enforcing_org',
  `select o.id as org_id, o.slug, c.protocol
   from orgs o left join sso_connections c on c.org_id = o.id
   where o.id = :orgId and o.sso_enforced`,
)

/** Ends the sessions of an org's members that enforcement does not allow. Owners keep theirs. */
export const endSessionsOutsideSso = statement<{ orgId: string }, { id: string }>(
  'accounts.end_sessions_outside_sso',
  `delete from sessions s using memberships m
   where m.org_id = :orgId and m.user_id = s.user_id and m.role <> 'owner'
     and not exists (
       select from memberships sm join orgs so on so.id = sm.org_id
       where sm.user_id = s.user_id and sm.org_id = s.sso_org_id and so.sso_enforced
     )
   returning s.id`,
)
