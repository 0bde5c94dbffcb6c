import { statement } from '../../db/statement.ts'
import type { Environment } from '../../ground/scope.ts'
import type { NumberType } from '../../providers/registry/sms-registry.ts'
import {
  type AfterRow,
  type Claim,
  type ClaimOrphans,
  claimOrphansSql,
  deleteSql,
  type FailOrphans,
  failOrphansSql,
  findSql,
  type ListRows,
  listRegisteredSql,
  type RecordReport,
  type RegistrationRow,
  type RegistrationStatus,
  type RowKey,
  recordReportSql,
  registrationColumns,
  releaseClaimSql,
} from './registration-rows.ts'

export type PhoneNumberRow = RegistrationRow & {
  tenant_id: string | null
  kind: 'number' | 'alphanumeric'
  type: NumberType | null
  e164: string | null
  sender_id: string | null
  iso_country: string
  campaign_id: string | null
  capabilities: string[]
  /** Null when the campaign does not exist, or was deleted. */
  campaign_status: RegistrationStatus | null
}

const columns = `${registrationColumns}, tenant_id, kind, type, e164, sender_id, iso_country, campaign_id, capabilities,
  (select c.status from campaigns c
   where c.org_id = phone_numbers.org_id and c.id = phone_numbers.campaign_id) as campaign_status`
const table = { table: 'phone_numbers', columns, only: "kind = 'number'" } as const

export const phoneNumberStatements = {
  claimOrphans: statement<ClaimOrphans, PhoneNumberRow>('phone_numbers.claim_orphans', claimOrphansSql(table)),
  failOrphans: statement<FailOrphans, PhoneNumberRow>('phone_numbers.fail_orphans', failOrphansSql(table)),
  releaseClaim: statement<Claim>('phone_numbers.release_claim', releaseClaimSql(table)),
  find: statement<RowKey, PhoneNumberRow>('phone_numbers.find', findSql(table)),
  /** For the development tools, which know the id but not the org. */
  exists: statement<{ id: string }, { id: string }>(
    'phone_numbers.exists',
    'select id from phone_numbers where id = :id',
  ),
  listRegistered: statement<AfterRow, PhoneNumberRow>('phone_numbers.list_registered', listRegisteredSql(table)),
  delete: statement<RowKey, PhoneNumberRow>('phone_numbers.delete', deleteSql(table)),
  recordReport: statement<RecordReport, PhoneNumberRow>('phone_numbers.record_report', recordReportSql(table)),
}

/** The sender that a new installation starts with. */
export const insertAlphanumeric = statement<{
  orgId: string
  id: string
  senderId: string
  isoCountry: string
  at: Date
}>(
  'senders.insert_alphanumeric',
  `insert into phone_numbers
     (org_id, id, environment, kind, sender_id, iso_country, status, verified_at, created_at, updated_at)
   values (:orgId, :id, 'live', 'alphanumeric', :senderId, :isoCountry, 'verified', :at, :at, :at)`,
)

export const insertPhoneNumber = statement<
  {
    orgId: string
    id: string
    environment: Environment
    kind: PhoneNumberRow['kind']
    type: NumberType | null
    senderId: string | null
    isoCountry: string
    campaignId: string | null
    status: RegistrationStatus
    e164: string | null
    providerId: string | null
    providerStatus: string | null
    capabilities: string[]
    verifiedAt: Date | null
    claimedAt: Date | null
    at: Date
  },
  PhoneNumberRow
>(
  'phone_numbers.insert',
  `insert into phone_numbers (org_id, id, environment, kind, type, sender_id, iso_country, campaign_id, status, e164,
     provider_id, provider_status, capabilities, verified_at, claimed_at, created_at, updated_at)
   values (:orgId, :id, :environment, :kind, :type, :senderId, :isoCountry, :campaignId, :status, :e164,
     :providerId, :providerStatus, :capabilities, :verifiedAt, :claimedAt, :at, :at)
   returning ${columns}`,
)

export const countPhoneNumbers = statement<{ orgId: string }, { n: number }>(
  'phone_numbers.count',
  'select count(*) as n from phone_numbers where org_id = :orgId',
)

export const findDuplicateSender = statement<
  { orgId: string; environment: Environment; senderId: string },
  { id: string }
>(
  'phone_numbers.find_duplicate_sender',
  `select id from phone_numbers
   where org_id = :orgId and environment = :environment and lower(sender_id) = lower(:senderId)`,
)

/** A tenant sees the numbers of its pools, and those of no tenant. */
export const listPhoneNumbers = statement<
  { orgId: string; tenantId: string | null; afterAt: string | null; afterId: string | null; limit: number },
  PhoneNumberRow
>(
  'phone_numbers.list',
  `select ${columns} from phone_numbers
   where org_id = :orgId
     and (:tenantId::text is null or tenant_id is null or tenant_id = :tenantId)
     and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))
   order by created_at desc, id desc
   limit :limit`,
)

/** Only the numbers of this tenant, if one is given. */
export const listOrgNumbers = statement<ListRows & { tenantId: string | null }, PhoneNumberRow>(
  'phone_numbers.list_org',
  `select ${columns} from phone_numbers
   where org_id = :orgId
     and (:tenantId::text is null or tenant_id = :tenantId)
     and (:environment::text is null or environment = :environment)
     and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))
   order by created_at desc, id desc
   limit :limit`,
)

export const recordNumber = statement<
  Claim & { providerId: string; e164: string; providerStatus: string; capabilities: string[]; at: Date },
  PhoneNumberRow
>(
  'phone_numbers.record_number',
  `update phone_numbers set provider_id = :providerId, e164 = :e164, provider_status = :providerStatus,
     capabilities = :capabilities, claimed_at = null, updated_at = :at
   where org_id = :orgId and id = :id and claimed_at = :claimedAt and provider_status is null
   returning ${columns}`,
)

/** A number that was never provisioned stays failed. */
export const rebindNumber = statement<RowKey & { campaignId: string; at: Date }, PhoneNumberRow>(
  'phone_numbers.rebind',
  `update phone_numbers set campaign_id = :campaignId,
     status = case when status = 'failed' then status else 'pending' end,
     status_reason = case when status = 'failed' then status_reason end,
     verified_at = null, updated_at = :at
   where org_id = :orgId and id = :id
   returning ${columns}`,
)

/** Takes the approval from the numbers of a deleted campaign. */
export const unverifyNumbersOf = statement<
  { orgId: string; campaignId: string; reason: string; at: Date },
  PhoneNumberRow
>(
  'phone_numbers.unverify_of_campaign',
  `update phone_numbers set status = 'unverified', status_reason = :reason, verified_at = null, updated_at = :at
   where org_id = :orgId and campaign_id = :campaignId and status in ('pending', 'verified')
   returning ${columns}`,
)

/** Sender ids of all orgs, in the order of their keys. */
export const listSenderIds = statement<AfterRow, PhoneNumberRow>(
  'phone_numbers.list_sender_ids',
  `select ${columns} from phone_numbers
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
