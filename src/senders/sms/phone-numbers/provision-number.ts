/** Gets a number from the registry for a row that this process has claimed. */
import type { Actor } from '../../../journal/audit/append.ts'
import { uniqueViolation } from '../../../platform/db/faults.ts'
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import type { Log } from '../../../platform/ground/log.ts'
import type { SmsRegistries } from '../../../providers/registry/open-sms-registry.ts'
import {
  type NumberRequest,
  type ProvisionedNumber,
  RegistryFault,
  type SmsRegistry,
} from '../../../providers/registry/sms-registry.ts'
import { type Announce, numberSubject } from '../registration/announce.ts'
import { messageTypeOf } from '../sms-senders.ts'
import { type CampaignRow, campaignStatements } from '../store/campaign-rows.ts'
import { type PhoneNumberRow, phoneNumberStatements, recordNumber } from '../store/phone-number-rows.ts'

type Wanted = Pick<PhoneNumberRow, 'id' | 'environment' | 'type'> & { iso_country: string }

export const numberRequest = (row: Wanted, campaign: CampaignRow): NumberRequest => ({
  id: row.id,
  environment: row.environment,
  type: row.type ?? 'longcode',
  isoCountry: row.iso_country,
  campaign: { id: campaign.id, providerId: campaign.provider_id ?? '' },
  messageType: messageTypeOf(campaign.fields.use_case),
})

/** Returns the row afterwards: with its number, or unchanged when the registry cannot be reached. */
export type ProvisionNumber = (row: PhoneNumberRow, actor: Actor) => Promise<PhoneNumberRow>

type Needs = { db: Db; clock: Clock; log: Log; announce: Announce; registries: SmsRegistries }

export const makeProvisionNumber = ({ db, clock, log, announce, registries }: Needs): ProvisionNumber => {
  const claimOf = ({ org_id: orgId, id, claimed_at }: PhoneNumberRow) => ({
    orgId,
    id,
    claimedAt: claimed_at as Date,
  })

  const giveUp = async (row: PhoneNumberRow): Promise<PhoneNumberRow> => {
    await db.change(phoneNumberStatements.releaseClaim, claimOf(row))
    return row
  }

  const record = async (row: PhoneNumberRow, number: ProvisionedNumber, actor: Actor) => {
    const { status: providerStatus, ...values } = number
    try {
      return await db.tx(async (tx) => {
        const recorded = await tx.row(recordNumber, { ...claimOf(row), ...values, providerStatus, at: clock.now() })
        if (recorded) await announce.record(tx, actor, 'phone_number.provisioned', numberSubject(recorded))
        return recorded
      })
    } catch (error) {
      if (uniqueViolation(error)) return undefined
      throw error
    }
  }

  const provision = async (registry: SmsRegistry, row: PhoneNumberRow, actor: Actor): Promise<PhoneNumberRow> => {
    const campaignId = row.campaign_id as string
    const campaign = await db.row(campaignStatements.find, { orgId: row.org_id, id: campaignId })
    if (!campaign?.provider_id) return giveUp(row)
    const number = await registry.provision(numberRequest(row, campaign))
    const recorded = await record(row, number, actor)
    if (recorded) return recorded
    // The row was deleted in between, or the org has this number already.
    await registry.release({ id: row.id, providerId: number.providerId })
    return giveUp(row)
  }

  return async (row, actor) => {
    const registry = registries.of(row.environment)
    if (!registry) return giveUp(row)
    try {
      return await provision(registry, row, actor)
    } catch (error) {
      if (!(error instanceof RegistryFault)) throw error
      log.warn({ err: error, phone_number_id: row.id }, 'number provisioning failed')
      return giveUp(row)
    }
  }
}
