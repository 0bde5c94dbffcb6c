/** Sessions and the policies of orgs on them. A session belongs to a user, not to an org. */
import { statement, unseen } from '../../../platform/db/statement.ts'
import { type ClosedBecause, closedBecause, isHeld, isManaged } from './enforcement-rows.ts'

export const insertSession = statement<{
  id: string
  userId: string
  tokenHash: Buffer
  method: string
  ssoOrgId: string | null
  ip: string | null
  userAgent: string
  at: Date
  expiresAt: Date
}>(
  'accounts.insert_session',
  `insert into sessions (id, user_id, token_hash, session_version, method, sso_org_id, ip_address, user_agent, created_at,
     last_active_at, expires_at)
   select :id, :userId, :tokenHash, session_version, :method, :ssoOrgId, :ip, :userAgent, :at, :at, :expiresAt
   from users where id = :userId`,
)

export type SessionRow = {
  ordinal: number
  session_id: string
  user_id: string
  method: string
  created_at: Date
  expires_at: Date
  last_active_at: Date
  sso_org_id: string | null
  own_factors: boolean
  org_id: string | null
  role: string | null
  suspended: boolean | null
  slug: string | null
  protocol: string | null
  closed: ClosedBecause | null
}

/**
 * The signed-in users and their active memberships: the one in the active org, or else the default org, or else the oldest
 * one, those first that are open to the session. A session that is older than an org of its user allows is not found.
 * Neither is one that no identity provider opened, if an enforcing org manages the user's address.
 */
export const findSessions = statement<{ hashes: Buffer[]; activeOrgs: (string | null)[]; now: Date }, SessionRow>(
  'accounts.find_sessions',
  `select r.ordinal::int as ordinal, s.id as session_id, s.user_id, s.method, s.created_at, s.expires_at,
     s.last_active_at, s.sso_org_id, (s.sso_org_id is null or s.stepped_up_at is not null) as own_factors,
     a.org_id, a.role, a.suspended, a.slug, a.closed, c.protocol
   from unnest(:hashes::bytea[], :activeOrgs::text[]) with ordinality as r (hash, active_org, ordinal)
   join sessions s on s.token_hash = r.hash
   join users u on u.id = s.user_id and u.session_version = s.session_version
   left join lateral (
     select m.org_id, m.role, o.suspended_at is not null as suspended, o.slug, ${closedBecause} as closed
     from memberships m join orgs o on o.id = m.org_id
     where m.user_id = s.user_id
     order by (m.org_id = r.active_org) desc nulls last, (${closedBecause}) is null desc,
       (m.org_id = u.default_org_id) desc nulls last, m.created_at, m.id
     limit 1
   ) a on true
   left join sso_connections c on c.org_id = a.org_id and a.closed is not null
   where s.expires_at > :now
     and not exists (
       select from memberships m join orgs o on o.id = m.org_id
       where m.user_id = s.user_id
         and (s.created_at + o.max_session_age_hours * interval '1 hour' <= :now
           or (s.sso_org_id is null and ${isHeld} and ${isManaged}))
     )`,
)

/** Sessions that another process has touched within the last minute stay as they are. */
export const touchSessions = statement<{ ids: string[]; at: Date; before: Date }>(
  'accounts.touch_sessions',
  'update sessions set last_active_at = :at where id = any (:ids::text[]) and last_active_at <= :before',
)

export const endSession = statement<{ tokenHash: Buffer }>(
  'accounts.end_session',
  'delete from sessions where token_hash = :tokenHash',
)

/** Ends the session with this id, or all sessions but that one. `providerOrgId` limits it to those of that provider. */
export const endSessions = statement<
  { userId: string; id: string | null; butId: string | null; providerOrgId: string | null },
  { id: string }
>(
  'accounts.end_sessions',
  `delete from sessions
   where user_id = :userId and (id = :id or (:butId::text is not null and id <> :butId))
     and (:providerOrgId::text is null or sso_org_id = :providerOrgId)
   returning id`,
)

/** The person has proven their own factors. The cookie changes with what it opens, so its former value is worth nothing. */
export const stepUpSession = statement<
  { userId: string; id: string; tokenHash: Buffer; at: Date },
  { created_at: Date; expires_at: Date }
>(
  'accounts.step_up_session',
  `update sessions s set stepped_up_at = :at, token_hash = :tokenHash
   from users u
   where s.id = :id and s.user_id = :userId and u.id = s.user_id and u.session_version = s.session_version
     and s.expires_at > :at
   returning s.created_at, s.expires_at`,
)

export const endAllSessions = statement<{ userId: string }>(
  'accounts.end_all_sessions',
  'delete from sessions where user_id = :userId',
)

/** Raises the version, so that every session of the user ends. */
export const raiseSessionVersion = statement<{ userId: string; at: Date }, { session_version: number }>(
  'accounts.raise_session_version',
  `update users set session_version = session_version + 1, updated_at = :at
   where id = :userId
   returning session_version`,
)

/** Lets one session live on after the version was raised. */
export const keepSession = statement<{ userId: string; id: string; version: number }>(
  'accounts.keep_session',
  'update sessions set session_version = :version where id = :id and user_id = :userId',
)

export type ListedSession = {
  id: string
  method: string
  ip_address: string | null
  user_agent: string
  created_at: Date
  last_active_at: Date
  expires_at: Date
}

/** The live sessions of a user, the current one first, then the newest. `providerOrgId` as for their end. */
export const listSessions = statement<
  {
    userId: string
    currentId: string
    providerOrgId: string | null
    now: Date
    maxAgeHours: number | null
    limit: number
  },
  ListedSession
>(
  'accounts.list_sessions',
  `select s.id, s.method, s.ip_address, s.user_agent, s.created_at, s.last_active_at,
     least(s.expires_at, s.created_at + :maxAgeHours::int * interval '1 hour') as expires_at
   from sessions s join users u on u.id = s.user_id and u.session_version = s.session_version
   where s.user_id = :userId and s.expires_at > :now
     and (:providerOrgId::text is null or s.sso_org_id = :providerOrgId)
     and (:maxAgeHours::int is null or s.created_at + :maxAgeHours::int * interval '1 hour' > :now)
   order by s.id = :currentId desc, s.created_at desc, s.id desc
   limit :limit`,
)

export type PolicyRow = { max_session_age_hours: number | null; max_sessions_per_user: number | null }

/** The strictest policy of all orgs of the user. */
export const findStrictestPolicy = statement<{ userId: string }, PolicyRow>(
  'accounts.find_strictest_policy',
  `select min(o.max_session_age_hours) as max_session_age_hours, min(o.max_sessions_per_user) as max_sessions_per_user
   from memberships m join orgs o on o.id = m.org_id
   where m.user_id = :userId`,
)

export const findPolicy = statement<{ orgId: string }, PolicyRow>(
  'accounts.find_policy',
  'select max_session_age_hours, max_sessions_per_user from orgs where id = :orgId',
)

/** A field that is not given keeps its value. Returns the former values too. */
export const setPolicy = statement<
  {
    orgId: string
    ageGiven: boolean
    age: number | null
    countGiven: boolean
    count: number | null
    at: Date
  },
  PolicyRow & { former_age: number | null; former_count: number | null }
>(
  'accounts.set_policy',
  `with former as (
     select max_session_age_hours as age, max_sessions_per_user as count from orgs where id = :orgId for update
   )
   update orgs set
     max_session_age_hours = case when :ageGiven::boolean then :age::int else former.age end,
     max_sessions_per_user = case when :countGiven::boolean then :count::int else former.count end,
     updated_at = :at
   from former
   where id = :orgId
   returning max_session_age_hours, max_sessions_per_user, former.age as former_age, former.count as former_count`,
)

/** Ends the oldest sessions of a user, or of every member of an org, beyond what the strictest policy allows. */
export const endExcessSessions = statement<{ orgId: string | null; userId: string | null }, { id: string }>(
  'accounts.end_excess_sessions',
  `delete from sessions where id in (
     select ranked.id
     from (
       select s.id, s.user_id, row_number() over (partition by s.user_id order by s.created_at desc, s.id desc) as place
       from sessions s
       where s.user_id = :userId or s.user_id in (select user_id from memberships where org_id = :orgId)
     ) ranked
     where ranked.place > (
       select min(o.max_sessions_per_user) from memberships m join orgs o on o.id = m.org_id
       where m.user_id = ranked.user_id
     )
   )
   returning id`,
)

/** Serializes what changes the sessions of a user, so that two sign-ins at once keep to the policy. */
export const lockUser = statement<{ userId: string }, { id: string }>(
  'accounts.lock_user',
  'select id from users where id = :userId for no key update',
)

export type Sweep = { before: Date; limit: number }

/** Deletes rows that expired before a time. */
export const deleteExpired = (table: string, key: string): string =>
  `delete from ${table} where (${key}) in (select ${key} from ${table} where expires_at < :before limit :limit)`

export const sweepSessions = statement<Sweep>('accounts.sweep_sessions', deleteExpired('sessions', 'id'))

/** The last use of a session is recorded for failed requests too. */
unseen(touchSessions)
