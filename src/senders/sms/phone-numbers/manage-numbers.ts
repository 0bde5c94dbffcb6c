import type { Actor } from '../../audit/append.ts'
import { uniqueViolation } from '../../db/faults.ts'
import type { Db, Tx } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { Failure } from '../../ground/errors.ts'
import type { Scope } from '../../ground/scope.ts'
import { claimedId, type IdempotencyClaim } from '../../idempotency/claims.ts'
import { lockOrg } from '../../orgs/store.ts'
import { testPrefix } from '../../providers/registry/local-registry.ts'
import type { SmsRegistries } from '../../providers/registry/open-sms-registry.ts'
import { type NumberType, type ProvisionedNumber, RegistryError } from '../../providers/registry/sms-registry.ts'
import { resourceLimit } from '../../usage/plan-limits.ts'
import type { Announce } from '../registration/announce.ts'
import { assertRegistry } from '../registration/may-change.ts'
import type { SpendRegistration } from '../registration/provision-limit.ts'
import { numberSubject } from '../registration/subject.ts'
import type { CampaignRow } from '../store/campaign-rows.ts'
import {
  countPhoneNumbers,
  findDuplicateSender,
  insertPhoneNumber,
  type PhoneNumberRow,
  phoneNumberStatements,
} from '../store/phone-number-rows.ts'
import { numberRequest, type ProvisionNumber } from './provision-number.ts'
import type { CreatePhoneNumber } from './shapes.ts'
import { findUsableCampaign } from './usable-campaign.ts'

export type AddPhoneNumber = (
  scope: Scope,
  actor: Actor,
  body: CreatePhoneNumber,
  claim?: IdempotencyClaim,
) => Promise<PhoneNumberRow>

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

const provisionable: ReadonlySet<string> = new Set(['US', 'CA'])

/** Rows of both environments count. The org stays locked until the transaction ends, so the count is exact. */
const assertWithinPlan = async (tx: Tx, orgId: string): Promise<void> => {
  const org = await tx.row(lockOrg, { orgId })
  const counted = await tx.row(countPhoneNumbers, { orgId })
  if (!org || !counted) throw new Failure('NOT_FOUND')
  const limit = resourceLimit['phone numbers'][org.plan]
  if (counted.n < limit) return
  throw new Failure('PLAN_RESOURCE_LIMIT', {
    message: `The ${org.plan} plan allows ${limit} phone numbers and sender ids.`,
  })
}

const asNewNumber = { kind: 'number', senderId: null, status: 'pending', verifiedAt: null } as const
const notProvisioned = { e164: null, providerId: null, providerStatus: null, capabilities: ['sms', 'mms'] }

const asProvisioned = ({ e164, providerId, status, capabilities }: ProvisionedNumber) => ({
  e164,
  providerId,
  providerStatus: status,
  capabilities,
})

export const makeAddPhoneNumber = (needs: Needs): AddPhoneNumber => {
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
      await assertWithinPlan(tx, orgId)
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
      if (error instanceof RegistryError) return undefined
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
      await assertWithinPlan(tx, orgId)
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

  return async (scope, actor, body, claim) => {
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
