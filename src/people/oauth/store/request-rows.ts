/** Requests of clients that wait for a person's decision. Each belongs to the person who opened it. */
import type { ScopeName } from '../../../customers/keys/scopes.ts'
import type { Given } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'

export type RequestRow = {
  client_id: string
  client_name: string
  redirect_uri: string
  state: string | null
  scopes: ScopeName[]
  code_challenge: string
}

const requested = 'r.client_id, c.name as client_name, r.redirect_uri, r.state, r.scopes, r.code_challenge'

export const insertRequest = statement<
  Given<RequestRow, 'client_id' | 'redirect_uri' | 'state' | 'scopes' | 'code_challenge'> & {
    userId: string
    id: string
    at: Date
    expiresAt: Date
  }
>(
  'oauth.insert_request',
  `insert into oauth_requests
     (user_id, id, client_id, redirect_uri, state, scopes, code_challenge, created_at, expires_at)
   values (:userId, :id, :clientId, :redirectUri, :state, :scopes::text[], :codeChallenge, :at, :expiresAt)`,
)

/** Keeps the newest requests of a person, so that links to the service cannot fill the database. */
export const trimRequests = statement<{ userId: string; kept: number }>(
  'oauth.trim_requests',
  `delete from oauth_requests
   where user_id = :userId and id in (
     select id from oauth_requests where user_id = :userId order by created_at desc, id offset :kept)`,
)

export const findRequest = statement<{ userId: string; id: string; at: Date }, RequestRow>(
  'oauth.find_request',
  `select ${requested}
   from oauth_requests r join oauth_clients c on c.id = r.client_id
   where r.user_id = :userId and r.id = :id and r.expires_at > :at`,
)

/** A request is decided once. */
export const takeRequest = statement<{ userId: string; id: string; at: Date }, RequestRow>(
  'oauth.take_request',
  `delete from oauth_requests r
   using oauth_clients c
   where r.user_id = :userId and r.id = :id and r.expires_at > :at and c.id = r.client_id
   returning ${requested}`,
)

export type OrgChoiceRow = { id: string; name: string; role: string; suspended: boolean }
const selectOrgChoice = `select o.id, o.name, m.role, o.suspended_at is not null as suspended
   from memberships m join orgs o on o.id = m.org_id`

/** The orgs of a person, by name. */
export const listOrgChoices = statement<{ userId: string; limit: number }, OrgChoiceRow>(
  'oauth.list_org_choices',
  `${selectOrgChoice}
   where m.user_id = :userId and o.deleted_at is null
   order by o.name, o.id
   limit :limit`,
)

/** Locks the membership, so that it cannot end between this check and the grant. */
export const lockOrgChoice = statement<{ orgId: string; userId: string }, OrgChoiceRow>(
  'oauth.lock_org_choice',
  `${selectOrgChoice}
   where m.org_id = :orgId and m.user_id = :userId and o.deleted_at is null
   for key share of m`,
)

export const sweepRequests = statement<{ at: Date }>(
  'oauth.sweep_requests',
  'delete from oauth_requests where expires_at <= :at',
)
