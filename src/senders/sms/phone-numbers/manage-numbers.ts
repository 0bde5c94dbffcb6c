/** Adds, rebinds and releases numbers and sender ids. */
import { lockWithinPlan } from '../../../customers/usage/within-plan.ts'
import type { Actor } from '../../../journal/audit/append.ts'
import { uniqueViolation } from '../../../platform/db/faults.ts'
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { Failure, invalid } from '../../../platform/ground/errors.ts'
import { isId } from '../../../platform/ground/ids.ts'
import { orNotFound } from '../../../platform/ground/or-not-found.ts'
import type { Environment, Scope } from '../../../platform/ground/scope.ts'
import { claimedId, type IdempotencyClaim } from '../../../platform/idempotency/claims.ts'
import { testPrefix } from '../../../providers/registry/local-registry.ts'
import type { SmsRegistries } from '../../../providers/registry/open-sms-registry.ts'
import { type NumberType, type ProvisionedNumber, RegistryFault } from '../../../providers/registry/sms-registry.ts'
import { type Announce, numberSubject } from '../registration/announce.ts'
import { assertRegistry, findChangeable, orProviderUnavailable } from '../registration/may-change.ts'
import type { SpendRegistration } from '../registration/provision-limit.ts'
import { type CampaignRow, campaignStatements } from '../store/campaign-rows.ts'
import {
  countPhoneNumbers,
  findDuplicateSender,
  insertPhoneNumber,
  type PhoneNumberRow,
  phoneNumberStatements,
  rebindNumber,
} from '../store/phone-number-rows.ts'
import { numberRequest, type ProvisionNumber } from './provision-number.ts'
import type { CreatePhoneNumber } from './shapes.ts'

/** Scheduled messages from the number fail when they are due. */
export type ReleaseNumber = (scope: Scope, actor: Actor, id: string) => Promise<void>

/** A sender that is to be added under this id. */
type NewSender = { id: string; scope: Scope; actor: Actor; body: CreatePhoneNumber }

type Needs = {
  db: Db
  clock: Clock
  announce: Announce
  registries: SmsRegistries
  spend: SpendRegistration
  provision: ProvisionNumber
  /** Drops this process's cached senders of the org immediately. Other processes are notified. */
  forget: (orgId: string) => void
}

type Binding = { orgId: string; campaignId: string; environment: Environment; type: NumberType | null }

/** The campaign that a number may be bound to. */
const findUsableCampaign = async (db: Db, binding: Binding): Promise<CampaignRow> => {
  const { orgId, campaignId: id, environment, type } = binding
  const campaign = isId('campaign', id) ? await db.row(campaignStatements.find, { orgId, id }) : undefined
  if (!campaign) throw new Failure('CAMPAIGN_NOT_FOUND')
  if (environment === 'live' && campaign.environment === 'test') throw new Failure('CAMPAIGN_IS_TEST_MODE')
  if (campaign.status !== 'verified') throw new Failure('CAMPAIGN_NOT_VERIFIED')
  const kind = type === 'tollfree' ? 'tollfree' : '10dlc'
  if (campaign.kind !== kind) {
    throw invalid(['campaign_id'], 'custom', `A ${type} number needs a campaign of kind ${kind}.`)
  }
  return campaign
}

const provisionable: ReadonlySet<string> = new Set(['US', 'CA'])

const asNewNumber = { kind: 'number', senderId: null, status: 'pending', verifiedAt: null } as const
const notProvisioned = { e164: null, providerId: null, providerStatus: null, capabilities: ['sms', 'mms'] }

const asProvisioned = ({ e164, providerId, status, capabilities }: ProvisionedNumber) => ({
  e164,
  providerId,
  providerStatus: status,
  capabilities,
})

export const makeAddPhoneNumber = (needs: Needs) => {
  const { db, clock, announce, registries, spend, provision, forget } = needs

  const addSenderId = async ({ id, scope, actor, body }: NewSender): Promise<PhoneNumberRow> => {
    const { orgId, environment } = scope
    const senderId = body.sender_id as string
    if (await db.row(findDuplicateSender, { orgId, environment, senderId })) {
      throw new Failure('SENDER_ALREADY_REGISTERED')
    }
    await spend(scope)
    const at = clock.now()
    const providerId = environment === 'test' ? `${testPrefix}${id.slice(id.indexOf('_') + 1)}` : null
    return db.tx(async (tx) => {
      await lockWithinPlan(tx, orgId, 'phone numbers', countPhoneNumbers)
      const row = await tx.row(insertPhoneNumber, {
        orgId,
        id,
        environment,
        kind: 'alphanumeric',
        type: null,
        senderId,
        isoCountry: body.iso_country,
        campaignId: null,
        status: 'verified',
        e164: null,
        providerId,
        providerStatus: null,
        capabilities: ['sms'],
        verifiedAt: at,
        claimedAt: null,
        at,
      })
      if (!row) throw new Error('the sender id was not inserted')
      await announce.record(tx, actor, 'phone_number.provisioned', numberSubject(row), { environment })
      return row
    })
  }

  /** A simulated number costs nothing, so it is chosen before the row is stored, and nothing is left if it is taken. */
  const simulate = async (row: Parameters<typeof numberRequest>[0], campaign: CampaignRow) => {
    if (row.environment === 'live') return undefined
    try {
      return await registries.of('test')?.provision(numberRequest(row, campaign))
    } catch (error) {
      if (error instanceof RegistryFault) return undefined
      throw error
    }
  }

  const addNumber = async ({ id, scope, actor, body }: NewSender): Promise<PhoneNumberRow> => {
    const { orgId, environment } = scope
    const { iso_country, campaign_id, type } = body as CreatePhoneNumber & { type: NumberType; campaign_id: string }
    if (!provisionable.has(iso_country)) throw new Failure('COUNTRY_NOT_PROVISIONABLE')
    const campaign = await findUsableCampaign(db, { orgId, campaignId: campaign_id, environment, type })
    assertRegistry(registries, environment)
    await spend(scope)
    const at = clock.now()
    const simulated = await simulate({ id, environment, type, iso_country }, campaign)
    const row = await db.tx(async (tx) => {
      await lockWithinPlan(tx, orgId, 'phone numbers', countPhoneNumbers)
      const made = await tx.row(insertPhoneNumber, {
        ...asNewNumber,
        ...(simulated ? asProvisioned(simulated) : notProvisioned),
        orgId,
        id,
        environment,
        type,
        isoCountry: iso_country,
        campaignId: campaign_id,
        claimedAt: simulated ? null : at,
        at,
      })
      if (!made) throw new Error('the number was not inserted')
      if (simulated) await announce.record(tx, actor, 'phone_number.provisioned', numberSubject(made), { environment })
      return made
    })
    return simulated ? row : provision(row, actor)
  }

  return async (scope: Scope, actor: Actor, body: CreatePhoneNumber, claim?: IdempotencyClaim) => {
    const id = claimedId('phoneNumber', claim, clock)
    const earlier = claim?.interrupted && (await db.row(phoneNumberStatements.find, { orgId: scope.orgId, id }))
    if (earlier) return earlier
    try {
      return await (body.kind === 'alphanumeric' ? addSenderId : addNumber)({ id, scope, actor, body })
    } catch (error) {
      if (uniqueViolation(error, 'phone_numbers_sender_id')) throw new Failure('SENDER_ALREADY_REGISTERED')
      throw uniqueViolation(error) ? new Failure('NUMBER_ALREADY_REGISTERED') : error
    } finally {
      forget(scope.orgId)
    }
  }
}

export type AddPhoneNumber = ReturnType<typeof makeAddPhoneNumber>

export const makeRebindNumber = (needs: Pick<Needs, 'db' | 'clock' | 'registries' | 'forget'>) => {
  const { db, clock, registries, forget } = needs

  const bind = async ({ id, provider_id, environment }: PhoneNumberRow, campaign: CampaignRow): Promise<void> => {
    if (provider_id === null) return
    assertRegistry(registries, environment)
    const ref = { id, providerId: provider_id }
    const to = { id: campaign.id, providerId: campaign.provider_id ?? '' }
    await orProviderUnavailable(registries.of(environment)?.bind(ref, to) ?? Promise.resolve())
  }

  return async (scope: Scope, id: string, campaignId: string): Promise<PhoneNumberRow> => {
    const { orgId } = scope
    const row = await findChangeable(db, phoneNumberStatements.find, scope, id)
    if (row.kind === 'alphanumeric') {
      throw invalid(['campaign_id'], 'custom', 'An alphanumeric sender has no campaign.')
    }
    const { environment, type } = row
    const campaign = await findUsableCampaign(db, { orgId, campaignId, environment, type })
    await bind(row, campaign)
    const bound = await orNotFound(db.row(rebindNumber, { orgId, id, campaignId, at: clock.now() }))
    forget(orgId)
    return bound
  }
}

export type RebindNumber = ReturnType<typeof makeRebindNumber>

export const makeReleaseNumber =
  ({ db, announce, registries, forget }: Pick<Needs, 'db' | 'announce' | 'registries' | 'forget'>): ReleaseNumber =>
  async (scope, actor, id) => {
    const key = { orgId: scope.orgId, id }
    const row = await findChangeable(db, phoneNumberStatements.find, scope, id)
    const { provider_id: providerId, environment, kind } = row
    if (providerId !== null && kind === 'number') {
      await orProviderUnavailable(registries.of(environment)?.release({ id, providerId }) ?? Promise.resolve())
    }
    await db.tx(async (tx) => {
      const released = await orNotFound(tx.row(phoneNumberStatements.delete, key))
      await announce.change(tx, actor, 'released', { ...numberSubject(released), reason: null })
    })
    forget(scope.orgId)
  }
