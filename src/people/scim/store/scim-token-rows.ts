/** Tokens with which the directory of an org calls. */
import { columns, type Given, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { statement, unseen } from '../../../platform/db/statement.ts'
import { type Keyset, newestPage } from '../../../platform/ground/cursor.ts'

const tokenColumns = columns({
  id: text,
  name: text,
  created_by: text.orNull,
  created_at: time,
  expires_at: time.orNull,
  last_used_at: time.orNull,
})

export type ScimTokenRow = RowOf<typeof tokenColumns>

export const listScimTokens = statement<{ orgId: string } & Keyset, ScimTokenRow>(
  'scim.list_tokens',
  `select ${tokenColumns} from scim_tokens
   where org_id = :orgId ${newestPage}`,
)

/** Returns no row if the org already has `max` live tokens. The caller holds the lock of the org. */
export const insertScimToken = statement<
  Given<ScimTokenRow, 'id' | 'name' | 'created_by' | 'expires_at'> & {
    orgId: string
    tokenHash: Buffer
    at: Date
    max: number
  },
  ScimTokenRow
>(
  'scim.insert_token',
  `insert into scim_tokens (org_id, id, name, token_hash, created_by, created_at, expires_at)
   select :orgId, :id, :name, :tokenHash, :createdBy, :at, :expiresAt
   where (
     select count(*) from scim_tokens where org_id = :orgId and (expires_at is null or expires_at > :at)
   ) < :max
   returning ${tokenColumns}`,
)

/** Expired tokens are shown until the next one is made. */
export const dropExpiredTokens = statement<{ orgId: string; at: Date }>(
  'scim.drop_expired_tokens',
  'delete from scim_tokens where org_id = :orgId and expires_at <= :at',
)

export const deleteScimToken = statement<{ orgId: string; id: string }, { name: string }>(
  'scim.delete_token',
  'delete from scim_tokens where org_id = :orgId and id = :id returning name',
)

/** The org is not known before the token. */
export const findScimToken = statement<
  { tokenHash: Buffer; at: Date },
  { org_id: string; id: string; last_used_at: Date | null }
>(
  'scim.find_token',
  `select t.org_id, t.id, t.last_used_at
   from scim_tokens t join orgs o on o.id = t.org_id and o.deleted_at is null
   where t.token_hash = :tokenHash and (t.expires_at is null or t.expires_at > :at)`,
)

export const markTokenUsed = statement<{ orgId: string; id: string; at: Date; before: Date }>(
  'scim.mark_token_used',
  `update scim_tokens set last_used_at = :at
   where org_id = :orgId and id = :id and (last_used_at is null or last_used_at < :before)`,
)

/** The last use of a token is recorded for failed requests too. */
unseen(markTokenUsed)
