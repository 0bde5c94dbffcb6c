/** Grants with their code and refresh token. A grant that ends is deleted, and its access tokens with it. */
import { isVouched } from '../../../customers/accounts/store/enforcement-rows.ts'
import type { ScopeName } from '../../../customers/keys/scopes.ts'
import { columns, type RowOf, text } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type Keyset, newestPageOf } from '../../../platform/ground/cursor.ts'

export const insertGrant = statement<{
  orgId: string
  id: string
  clientId: string
  userId: string
  scopes: string[]
  redirectUri: string
  codeHash: Buffer
  codeChallenge: string
  at: Date
  codeExpiresAt: Date
}>(
  'oauth.insert_grant',
  `insert into oauth_grants (org_id, id, client_id, user_id, scopes, redirect_uri, code_hash, code_challenge,
     code_expires_at, created_at, expires_at)
   values (:orgId, :id, :clientId, :userId, :scopes::text[], :redirectUri, :codeHash, :codeChallenge,
     :codeExpiresAt, :at, :codeExpiresAt)`,
)

const ended = columns({ org_id: text, id: text, client_id: text, user_id: text })
export type EndedGrantRow = RowOf<typeof ended>

/** A person can allow the same client several times. The oldest grants beyond the limit end. */
export const endExcessGrants = statement<
  { orgId: string; userId: string; clientId: string; kept: number },
  EndedGrantRow
>(
  'oauth.end_excess_grants',
  `delete from oauth_grants
   where org_id = :orgId and id in (
     select id from oauth_grants
     where org_id = :orgId and user_id = :userId and client_id = :clientId
     order by created_at desc, id desc
     offset :kept)
   returning ${ended}`,
)

export type IssuedRow = { org_id: string; id: string; scopes: ScopeName[]; expires_at: Date }

/** The member of a grant. An org that enforces single sign-on closes to the grants of members who have not used it. */
const ofOpenMember = `from memberships m join orgs o on o.id = m.org_id
     where m.org_id = g.org_id and m.user_id = g.user_id and ${isVouched}`

/** No token outlives the longest life of its grant. */
const lifeEnd = "g.created_at + :maxDays::int * interval '1 day'"

type NewTokens = {
  clientId: string
  familyHash: Buffer
  refreshHash: Buffer
  accessHash: Buffer
  at: Date
  refreshExpiresAt: Date
  accessExpiresAt: Date
  maxDays: number
}

/** This statement and the next ones have no org id: the code or the token identifies the org. */
export const redeemCode = statement<
  NewTokens & { codeHash: Buffer; codeChallenge: string; redirectUri: string | null },
  IssuedRow
>(
  'oauth.redeem_code',
  `with redeemed as (
     update oauth_grants g
     set code_used_at = :at, family_hash = :familyHash, refresh_hash = :refreshHash,
       expires_at = least(:refreshExpiresAt, ${lifeEnd})
     ${ofOpenMember}
       and g.code_hash = :codeHash and g.client_id = :clientId and g.code_challenge = :codeChallenge
       and (:redirectUri::text is null or g.redirect_uri = :redirectUri)
       and g.code_used_at is null and g.code_expires_at > :at
     returning g.org_id, g.id, g.scopes, least(:accessExpiresAt, ${lifeEnd}) as expires_at
   ), issued as (
     insert into oauth_access_tokens (hash, org_id, grant_id, scopes, created_at, expires_at)
     select :accessHash, org_id, id, scopes, :at, expires_at from redeemed
     returning scopes
   )
   select r.org_id, r.id, i.scopes, r.expires_at from redeemed r, issued i`,
)

/** A code that is used again was stolen, before or after its first use. */
export const endGrantOfUsedCode = statement<{ codeHash: Buffer }, EndedGrantRow>(
  'oauth.end_grant_of_used_code',
  `delete from oauth_grants where code_hash = :codeHash and code_used_at is not null returning ${ended}`,
)

/** Without `scopes`, the new access token has those of the grant. */
export const rotateRefresh = statement<NewTokens & { presentedHash: Buffer; scopes: string[] | null }, IssuedRow>(
  'oauth.rotate_refresh',
  `with rotated as (
     update oauth_grants g
     set refresh_hash = :refreshHash, expires_at = least(:refreshExpiresAt, ${lifeEnd})
     ${ofOpenMember}
       and g.family_hash = :familyHash and g.refresh_hash = :presentedHash and g.client_id = :clientId
       and g.expires_at > :at and ${lifeEnd} > :at
       and (:scopes::text[] is null or g.scopes @> :scopes::text[])
     returning g.org_id, g.id, g.scopes, least(:accessExpiresAt, ${lifeEnd}) as expires_at
   ), issued as (
     insert into oauth_access_tokens (hash, org_id, grant_id, scopes, created_at, expires_at)
     select :accessHash, org_id, id, coalesce(:scopes::text[], scopes), :at, expires_at from rotated
     returning scopes
   )
   select r.org_id, r.id, i.scopes, r.expires_at from rotated r, issued i`,
)

/** A refresh token that was replaced and is used again: its client or a thief has the newer one. */
export const endGrantOfOldRefresh = statement<{ familyHash: Buffer; presentedHash: Buffer }, EndedGrantRow>(
  'oauth.end_grant_of_old_refresh',
  `delete from oauth_grants where family_hash = :familyHash and refresh_hash <> :presentedHash returning ${ended}`,
)

/** Whether the refresh token would be accepted for the scopes that it has. */
export const isCurrentRefresh = statement<
  { familyHash: Buffer; presentedHash: Buffer; clientId: string; maxDays: number; at: Date },
  { id: string }
>(
  'oauth.is_current_refresh',
  `select g.id from oauth_grants g
   where g.family_hash = :familyHash and g.refresh_hash = :presentedHash and g.client_id = :clientId
     and g.expires_at > :at and ${lifeEnd} > :at and exists (select ${ofOpenMember})`,
)

/** Keeps the newest access tokens of a grant, so that a client that refreshes all the time leaves no rows behind. */
export const trimAccessTokens = statement<{ orgId: string; grantId: string; kept: number }>(
  'oauth.trim_access_tokens',
  `delete from oauth_access_tokens
   where org_id = :orgId and grant_id = :grantId and hash in (
     select hash from oauth_access_tokens
     where org_id = :orgId and grant_id = :grantId
     order by created_at desc, hash
     offset :kept)`,
)

export const revokeByFamily = statement<{ familyHash: Buffer; clientId: string | null }, EndedGrantRow>(
  'oauth.revoke_by_family',
  `delete from oauth_grants
   where family_hash = :familyHash and (:clientId::text is null or client_id = :clientId)
   returning ${ended}`,
)

export const revokeAccessToken = statement<{ hash: Buffer; clientId: string | null }>(
  'oauth.revoke_access_token',
  `delete from oauth_access_tokens t
   using oauth_grants g
   where t.hash = :hash and g.org_id = t.org_id and g.id = t.grant_id
     and (:clientId::text is null or g.client_id = :clientId)`,
)

export const endGrantOfUser = statement<
  { userId: string; id: string; onlyOrgId: string | null; at: Date },
  EndedGrantRow
>(
  'oauth.end_grant_of_user',
  `delete from oauth_grants
   where user_id = :userId and id = :id and expires_at > :at and (:onlyOrgId::text is null or org_id = :onlyOrgId)
   returning ${ended}`,
)

export const endGrantOfOrg = statement<{ orgId: string; id: string; at: Date }, EndedGrantRow>(
  'oauth.end_grant_of_org',
  `delete from oauth_grants where org_id = :orgId and id = :id and expires_at > :at returning ${ended}`,
)

/** For a member who leaves the org, or signs out everywhere on it. */
export const endGrantsOfMember = statement<{ orgId: string; userId: string }, EndedGrantRow>(
  'oauth.end_grants_of_member',
  `delete from oauth_grants where org_id = :orgId and user_id = :userId returning ${ended}`,
)

/** Over all orgs of a person. */
export const endGrantsOfAccount = statement<{ userId: string }, EndedGrantRow>(
  'oauth.end_grants_of_account',
  `delete from oauth_grants where user_id = :userId returning ${ended}`,
)

type GrantRow = {
  id: string
  client_name: string
  user_id: string
  org_id: string
  scopes: ScopeName[]
  created_at: Date
  last_used_at: Date | null
}

const listed = `g.id, c.name as client_name, g.user_id, g.org_id, g.scopes, g.created_at, g.last_used_at`

/** Over all orgs of the person, or on one of them. */
export const listGrantsOfUser = statement<{ userId: string; onlyOrgId: string | null; at: Date } & Keyset, GrantRow>(
  'oauth.list_grants_of_user',
  `select ${listed} from oauth_grants g join oauth_clients c on c.id = g.client_id
   where g.user_id = :userId and g.expires_at > :at and (:onlyOrgId::text is null or g.org_id = :onlyOrgId)
     ${newestPageOf('g')}`,
)

export const listGrantsOfOrg = statement<{ orgId: string; at: Date } & Keyset, GrantRow>(
  'oauth.list_grants_of_org',
  `select ${listed} from oauth_grants g join oauth_clients c on c.id = g.client_id
   where g.org_id = :orgId and g.expires_at > :at ${newestPageOf('g')}`,
)

export const sweepGrants = statement<{ at: Date }>(
  'oauth.sweep_grants',
  'delete from oauth_grants where expires_at <= :at',
)

export const sweepAccessTokens = statement<{ at: Date }>(
  'oauth.sweep_access_tokens',
  'delete from oauth_access_tokens where expires_at <= :at',
)
