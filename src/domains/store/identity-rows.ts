/** What is stored about the identities of domains at the provider. A provider has one identity per name and region. */
import { statement } from '../../db/statement.ts'
import type { Region } from '../region.ts'

export const findDkimKey = statement<{ orgId: string; id: string }, { dkim_private_key: string | null }>(
  'domains.find_dkim_key',
  'select dkim_private_key from domains where org_id = :orgId and id = :id',
)

export const recordIdentity = statement<{ orgId: string; id: string; identity: 'created' | 'adopted' }>(
  'domains.record_identity',
  'update domains set identity = :identity where org_id = :orgId and id = :id',
)

/** Another domain that uses the same identity, of any org. */
export const findOtherIdentity = statement<{ name: string; region: Region; id: string }, { id: string }>(
  'domains.find_other_identity',
  `select id from domains
   where name = :name and region = :region and id <> :id and identity is not null
   limit 1`,
)

/** The oldest remaining domain with this identity, of any org, becomes the one that removes it. */
export const inheritIdentity = statement<{ name: string; region: Region }>(
  'domains.inherit_identity',
  `update domains set identity = 'created'
   where (org_id, id) = (
     select org_id, id from domains
     where name = :name and region = :region and identity is not null
     order by created_at, id limit 1)`,
)
