import { columns, type Given, oneOf, type RowOf, text, texts } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type Keyset, newestPage } from '../../../platform/ground/cursor.ts'
import type { NumberType } from '../../../providers/registry/sms-registry.ts'
import {
  type AfterRow,
  type Claim,
  type ClaimOrphans,
  type FailOrphans,
  type ListRows,
  type RecordReport,
  type RegistrationStatus,
  type RowKey,
  registrationColumns,
  registrationSql,
} from './registration-rows.ts'

const ownColumns = columns({
  ...registrationColumns,
  tenant_id: text.orNull,
  kind: oneOf<'number' | 'alphanumeric'>(),
  type: oneOf<NumberType>().orNull,
  e164: text.orNull,
  sender_id: text.orNull,
  iso_country: text,
  campaign_id: text.orNull,
  capabilities: texts,
})

export type PhoneNumberRow = RowOf<typeof ownColumns> & {
  /** Null when the campaign does not exist, or was deleted. */
  campaign_status: RegistrationStatus | null
}

const numberColumns = `${ownColumns},
  (select c.status from campaigns c
   where c.org_id = phone_numbers.org_id and c.id = phone_numbers.campaign_id) as campaign_status`

const sql = registrationSql({ table: 'phone_numbers', columns: numberColumns, only: "kind = 'number'" })

export const phoneNumberStatements = {
  claimOrphans: statement<ClaimOrphans, PhoneNumberRow>('phone_numbers.claim_orphans', sql.claimOrphans),
  failOrphans: statement<FailOrphans, PhoneNumberRow>('phone_numbers.fail_orphans', sql.failOrphans),
  releaseClaim: statement<Claim>('phone_numbers.release_claim', sql.releaseClaim),
  find: statement<RowKey, PhoneNumberRow>('phone_numbers.find', sql.find),
  exists: statement<{ id: string }, { id: string }>('phone_numbers.exists', sql.exists),
  listRegistered: statement<AfterRow, PhoneNumberRow>('phone_numbers.list_registered', sql.listRegistered),
  delete: statement<RowKey, PhoneNumberRow>('phone_numbers.delete', sql.delete),
  recordReport: statement<RecordReport, PhoneNumberRow>('phone_numbers.record_report', sql.recordReport),
}

/** The sender that a new installation starts with. */
export const insertAlphanumeric = statement<RowKey & { senderId: string; isoCountry: string; at: Date }>(
  'senders.insert_alphanumeric',
  `insert into phone_numbers
     (org_id, id, environment, kind, sender_id, iso_country, status, verified_at, created_at, updated_at)
   values (:orgId, :id, 'live', 'alphanumeric', :senderId, :isoCountry, 'verified', :at, :at, :at)`,
)

export const insertPhoneNumber = statement<
  Given<PhoneNumberRow, 'org_id' | 'id' | 'environment' | 'kind' | 'type' | 'sender_id' | 'iso_country'> &
    Given<PhoneNumberRow, 'campaign_id' | 'status' | 'e164' | 'provider_id' | 'provider_status' | 'capabilities'> &
    Given<PhoneNumberRow, 'verified_at' | 'claimed_at'> & { at: Date },
  PhoneNumberRow
>(
  'phone_numbers.insert',
  `insert into phone_numbers (org_id, id, environment, kind, type, sender_id, iso_country, campaign_id, status, e164,
     provider_id, provider_status, capabilities, verified_at, claimed_at, created_at, updated_at)
   values (:orgId, :id, :environment, :kind, :type, :senderId, :isoCountry, :campaignId, :status, :e164,
     :providerId, :providerStatus, :capabilities, :verifiedAt, :claimedAt, :at, :at)
   returning ${numberColumns}`,
)

export const countPhoneNumbers = statement<{ orgId: string }, { n: number }>(
  'phone_numbers.count',
  'select count(*) as n from phone_numbers where org_id = :orgId',
)

export const findDuplicateSender = statement<
  Given<PhoneNumberRow, 'org_id' | 'environment'> & { senderId: string },
  { id: string }
>(
  'phone_numbers.find_duplicate_sender',
  `select id from phone_numbers
   where org_id = :orgId and environment = :environment and lower(sender_id) = lower(:senderId)`,
)

/** A tenant sees the numbers of its pools, and those of no tenant. */
export const listPhoneNumbers = statement<Keyset & { orgId: string; tenantId: string | null }, PhoneNumberRow>(
  'phone_numbers.list',
  `select ${numberColumns} from phone_numbers
   where org_id = :orgId
     and (:tenantId::text is null or tenant_id is null or tenant_id = :tenantId) ${newestPage}`,
)

/** Only the numbers of this tenant, if one is given. */
export const listOrgNumbers = statement<ListRows & { tenantId: string | null }, PhoneNumberRow>(
  'phone_numbers.list_org',
  `select ${numberColumns} from phone_numbers
   where org_id = :orgId
     and (:tenantId::text is null or tenant_id = :tenantId)
     and (:environment::text is null or environment = :environment) ${newestPage}`,
)

export const recordNumber = statement<
  Claim & { providerId: string; e164: string; providerStatus: string; capabilities: string[]; at: Date },
  PhoneNumberRow
>(
  'phone_numbers.record_number',
  `update phone_numbers set provider_id = :providerId, e164 = :e164, provider_status = :providerStatus,
     capabilities = :capabilities, claimed_at = null, updated_at = :at
   where org_id = :orgId and id = :id and claimed_at = :claimedAt and provider_status is null
   returning ${numberColumns}`,
)

/** A number that was never provisioned stays failed. */
export const rebindNumber = statement<RowKey & { campaignId: string; at: Date }, PhoneNumberRow>(
  'phone_numbers.rebind',
  `update phone_numbers set campaign_id = :campaignId,
     status = case when status = 'failed' then status else 'pending' end,
     status_reason = case when status = 'failed' then status_reason end,
     verified_at = null, updated_at = :at
   where org_id = :orgId and id = :id
   returning ${numberColumns}`,
)

/** Takes the approval from the numbers of a deleted campaign. */
export const unverifyNumbersOf = statement<
  { orgId: string; campaignId: string; reason: string; at: Date },
  PhoneNumberRow
>(
  'phone_numbers.unverify_of_campaign',
  `update phone_numbers set status = 'unverified', status_reason = :reason, verified_at = null, updated_at = :at
   where org_id = :orgId and campaign_id = :campaignId and status in ('pending', 'verified')
   returning ${numberColumns}`,
)

/** Sender ids of all orgs, in the order of their keys. */
export const listSenderIds = statement<AfterRow, PhoneNumberRow>(
  'phone_numbers.list_sender_ids',
  `select ${numberColumns} from phone_numbers
   where (org_id, id) > (:afterOrg, :afterId) and kind = 'alphanumeric'
   order by org_id, id
   limit :limit`,
)

/** Numbers of an org that the registry has assigned. */
export const assignedNumbers = statement<{ orgId: string; limit: number }, { id: string }>(
  'phone_numbers.assigned',
  `select id from phone_numbers
   where org_id = :orgId and kind = 'number' and provider_id is not null
   order by id
   limit :limit`,
)
