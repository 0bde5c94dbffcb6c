/** SMS senders: the registry, and brands, campaigns and numbers that are registered with it. */
import { megabyte } from '../../platform/ground/units.ts'
import { type GuardedAgent, OutgoingFault } from '../../platform/outgoing/guarded.ts'
import { openSmsRegistries } from '../../providers/registry/open-sms-registry.ts'
import { brandEntry, makeAddBrand, makeCorrectBrand, makeRemoveBrand } from '../../senders/sms/brands/manage-brands.ts'
import { makeAddCampaign, makeCampaignEntry, makeRemoveCampaign } from '../../senders/sms/campaigns/manage-campaigns.ts'
import {
  makeAddPhoneNumber,
  makeRebindNumber,
  makeReleaseNumber,
} from '../../senders/sms/phone-numbers/manage-numbers.ts'
import { makeProvisionNumber } from '../../senders/sms/phone-numbers/provision-number.ts'
import { makeAnnounce } from '../../senders/sms/registration/announce.ts'
import { makePollStatus } from '../../senders/sms/registration/poll-status.ts'
import { makeProvisionLimit } from '../../senders/sms/registration/provision-limit.ts'
import {
  makeReadBrands,
  makeReadCampaigns,
  makeReadNumbers,
} from '../../senders/sms/registration/read-registrations.ts'
import { makeReconcile } from '../../senders/sms/registration/reconcile.ts'
import { makeRegisterForm } from '../../senders/sms/registration/register-form.ts'
import { makeSimulateRegistration } from '../../senders/sms/simulate-registration.ts'
import { brandStatements } from '../../senders/sms/store/brand-rows.ts'
import { campaignStatements } from '../../senders/sms/store/campaign-rows.ts'
import type { Foundation } from './foundation.ts'
import type { Replacements } from './replacements.ts'
import type { Sending } from './sending.ts'

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
  const { config, db, reads, clock, log, limiter, forget, audit, appendEvents } = foundation
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
      read: makeReadBrands({ db: reads.db }),
      add: makeAddBrand({ ...shared, register: registerBrand }),
      correct: makeCorrectBrand(shared),
      remove: makeRemoveBrand(shared),
    },
    campaigns: {
      read: makeReadCampaigns({ db: reads.db }),
      add: makeAddCampaign({ ...shared, register: registerCampaign }),
      remove: makeRemoveCampaign(shared),
    },
    phoneNumbers: {
      read: makeReadNumbers({ db: reads.db }),
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
