/** How each kind of sender is polled: its rows, its report, and what it depends on. */
import type { Tx } from '../../../platform/db/pool.ts'
import type { Statement } from '../../../platform/db/statement.ts'
import type { RegistryReport, SmsRegistry } from '../../../providers/registry/sms-registry.ts'
import { type BrandRow, brandStatements } from '../store/brand-rows.ts'
import { type CampaignRow, campaignStatements } from '../store/campaign-rows.ts'
import { listSenderIds, type PhoneNumberRow, phoneNumberStatements } from '../store/phone-number-rows.ts'
import type { AfterRow, RecordFormReport, RegistrationRow, RowKey } from '../store/registration-rows.ts'
import { brandSubject, campaignSubject, numberSubject, type Subject } from './announce.ts'

export type Polled<R extends RegistrationRow> = {
  list: Statement<AfterRow, R>
  find: Statement<RowKey, R>
  /** Undefined when the registry has nothing to report. */
  read: (registry: SmsRegistry, row: R) => Promise<RegistryReport | undefined>
  record: (tx: Tx, report: RecordFormReport) => Promise<R | undefined>
  subjectOf: (row: R) => Subject
  /** Why an approval is not enough, or null. */
  lostParent: (row: R) => string | null
  missingOf: (row: R) => string[] | null
  /** Whether rows show the status of the registry. */
  showsStatus: boolean
}

const refOf = ({ id, provider_id }: RegistrationRow) => ({ id, providerId: provider_id as string })

/** Brands and campaigns are forms, whose missing fields the registry names. */
const ofForms = {
  read: (registry: SmsRegistry, row: BrandRow | CampaignRow) => registry.readRegistration(refOf(row)),
  missingOf: (row: BrandRow | CampaignRow) => row.provider_missing_fields,
  showsStatus: true,
}

export const polledBrands: Polled<BrandRow> = {
  ...ofForms,
  list: brandStatements.listRegistered,
  find: brandStatements.find,
  record: (tx, report) => tx.row(brandStatements.recordReport, report),
  subjectOf: brandSubject,
  lostParent: () => null,
}

export const polledCampaigns: Polled<CampaignRow> = {
  ...ofForms,
  list: campaignStatements.listRegistered,
  find: campaignStatements.find,
  record: (tx, report) => tx.row(campaignStatements.recordReport, report),
  subjectOf: campaignSubject,
  lostParent: (row) => (row.brand_status === 'unverified' ? 'The brand is unverified.' : null),
}

const ofNumbers = {
  find: phoneNumberStatements.find,
  record: (tx: Tx, report: RecordFormReport) => tx.row(phoneNumberStatements.recordReport, report),
  subjectOf: numberSubject,
  missingOf: () => [],
}

const lostCampaign = ({ campaign_status }: PhoneNumberRow): string | null => {
  if (campaign_status === null) return 'The campaign was deleted.'
  return campaign_status === 'unverified' ? 'The campaign is unverified.' : null
}

export const polledNumbers: Polled<PhoneNumberRow> = {
  ...ofNumbers,
  list: phoneNumberStatements.listRegistered,
  read: (registry, row) => registry.readNumber(refOf(row)),
  lostParent: lostCampaign,
  showsStatus: true,
}

export const polledSenderIds: Polled<PhoneNumberRow> = {
  ...ofNumbers,
  list: listSenderIds,
  read: (registry, row) => registry.readSenderId(row.id),
  lostParent: () => null,
  showsStatus: false,
}
