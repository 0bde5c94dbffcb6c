/** SMS senders: the registry, and brands, campaigns and numbers that are registered with it. */
import { type GuardedAgent, OutgoingFault } from '../outgoing/guarded.ts'
import { openSmsRegistries } from '../providers/registry/open-sms-registry.ts'
import { brandEntry } from '../senders/brands/brand-entry.ts'
import { makeCorrectBrand } from '../senders/brands/correct-brand.ts'
import { makeAddBrand } from '../senders/brands/create-brand.ts'
import { makeRemoveBrand } from '../senders/brands/remove-brand.ts'
import { makeCampaignEntry } from '../senders/campaigns/campaign-entry.ts'
import { makeAddCampaign } from '../senders/campaigns/create-campaign.ts'
import { makeRemoveCampaign } from '../senders/campaigns/remove-campaign.ts'
import { makeAddPhoneNumber } from '../senders/phone-numbers/create-number.ts'
import { makeProvisionNumber } from '../senders/phone-numbers/provision-number.ts'
import { makeRebindNumber } from '../senders/phone-numbers/rebind-number.ts'
import { makeReleaseNumber } from '../senders/phone-numbers/release-number.ts'
import { makeAnnounce } from '../senders/registration/announce.ts'
import { makePollStatus } from '../senders/registration/poll-status.ts'
import { makeProvisionLimit } from '../senders/registration/provision-limit.ts'
import { makeReconcile } from '../senders/registration/reconcile.ts'
import { makeRegisterForm } from '../senders/registration/register-form.ts'
import { makeSimulateRegistration } from '../senders/simulate-registration.ts'
import { brandStatements } from '../senders/store/brand-rows.ts'
import { campaignStatements } from '../senders/store/campaign-rows.ts'
import type { Foundation } from './foundation.ts'
import type { Replacements } from './replacements.ts'
import type { Sending } from './sending.ts'

const megabyte = 1_048_576

/** Files of customers are fetched through the guarded agent. The registry takes at most 5 MB. */
const makeFetchEvidence =
  (agent: GuardedAgent) =>
  async (url: string): Promise<Uint8Array | undefined> => {
    try {
      const reply = await agent.request(url, { method: 'GET', timeoutMs: 10_000, maxBytes: 5 * megabyte })
      return reply.status === 200 && !reply.truncated && reply.body.length > 0 ? reply.body : undefined
    } catch (error) {
      if (error instanceof OutgoingFault) return undefined
      throw error
    }
  }

export const makeSmsRegistration = (foundation: Foundation, { agent }: Sending, replacements: Replacements) => {
  const { config, db, clock, log, limiter, caches, audit, appendEvents } = foundation
  const { forget } = caches
  const registries =
    replacements.registries ?? openSmsRegistries({ config, db, clock, log, fetchFile: makeFetchEvidence(agent) })
  const announce = makeAnnounce({ audit, appendEvents })
  const spend = makeProvisionLimit({ limiter, clock })
  const shared = { db, clock, log, announce, registries, spend, forget }
  const registerBrand = makeRegisterForm(shared, { statements: brandStatements, entryOf: brandEntry })
  const campaignForm = { statements: campaignStatements, entryOf: makeCampaignEntry({ db }) }
  const registerCampaign = makeRegisterForm(shared, campaignForm)
  const provision = makeProvisionNumber(shared)
  return {
    registries,
    brands: {
      add: makeAddBrand({ ...shared, register: registerBrand }),
      correct: makeCorrectBrand(shared),
      remove: makeRemoveBrand(shared),
    },
    campaigns: {
      add: makeAddCampaign({ ...shared, register: registerCampaign }),
      remove: makeRemoveCampaign(shared),
    },
    phoneNumbers: {
      add: makeAddPhoneNumber({ ...shared, provision }),
      rebind: makeRebindNumber(shared),
      release: makeReleaseNumber(shared),
    },
    pollStatus: makePollStatus(shared),
    reconcile: makeReconcile({ db, clock, announce, registerBrand, registerCampaign, provision }),
    simulateRegistration: makeSimulateRegistration({ db, clock }),
  }
}

export type SmsRegistration = ReturnType<typeof makeSmsRegistration>
