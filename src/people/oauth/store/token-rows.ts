/** Access tokens as the callers of requests. */
import { isVouched } from '../../../customers/accounts/store/enforcement-rows.ts'
import type { ScopeName } from '../../../customers/keys/scopes.ts'
import type { Plan } from '../../../customers/orgs/plans.ts'
import { statement, unseen } from '../../../platform/db/statement.ts'

export type TokenRow = {
  ordinal: number
  org_id: string
  grant_id: string
  client_id: string
  user_id: string
  scopes: ScopeName[]
  role: string
  expires_at: Date
  plan: Plan
  org_rate: number | null
  suspended: boolean
}

/**
 * Has no org id: the token identifies the org. The role and the enforcement of single sign-on are the present ones, so a
 * change of them takes effect at once.
 */
export const findTokens = statement<{ hashes: Buffer[] }, TokenRow>(
  'oauth.find_tokens',
  `select h.ordinal::int as ordinal, g.org_id, g.id as grant_id, g.client_id, g.user_id, t.scopes, m.role, t.expires_at,
     o.plan, o.rate_limit_per_minute as org_rate, o.suspended_at is not null as suspended
   from unnest(:hashes::bytea[]) with ordinality as h (hash, ordinal)
   join oauth_access_tokens t on t.hash = h.hash
   join oauth_grants g on g.org_id = t.org_id and g.id = t.grant_id
   join memberships m on m.org_id = g.org_id and m.user_id = g.user_id
   join orgs o on o.id = g.org_id and o.deleted_at is null
   where ${isVouched}`,
)

/** Writes at most once a minute per grant, even when several processes report a use. */
export const touchGrants = statement<{ orgIds: string[]; ids: string[]; at: Date[] }>(
  'oauth.touch_grants',
  `with used as (
     update oauth_grants g set last_used_at = u.at
     from unnest(:orgIds::text[], :ids::text[], :at::timestamptz[]) as u (org_id, id, at)
     where g.org_id = u.org_id and g.id = u.id
       and (g.last_used_at is null or g.last_used_at <= u.at - interval '1 minute')
     returning g.client_id, u.at
   )
   update oauth_clients c set used_at = used.at from used where c.id = used.client_id`,
)

/** The last use of a grant is recorded for failed requests too. */
unseen(touchGrants)
