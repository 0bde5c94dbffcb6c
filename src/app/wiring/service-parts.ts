/** Builds the layers of the service, lowest first. The routes, the servers and the worker build on all of them. */
import type { Log } from '../../platform/ground/log.ts'
import type { Peers } from '../../platform/processes/peers.ts'
import { codeTexts } from '../../providers/outbox/read.ts'
import { makeBilling } from './billing.ts'
import { makeDelivery } from './delivery.ts'
import { makeExports } from './exports.ts'
import { openFoundation, type ServiceConfig } from './foundation.ts'
import { makeHealthOf } from './health.ts'
import { makeOAuth } from './oauth.ts'
import { makePeople } from './people.ts'
import { makePlatform } from './platform.ts'
import { makeSmsRegistration } from './registration.ts'
import type { Replacements } from './replacements.ts'
import { makeResources } from './resources.ts'
import { makeScim } from './scim.ts'
import { makeSending } from './sending.ts'
import { makeSso } from './sso.ts'
import { makeTeam } from './team.ts'

type Needs = { config: ServiceConfig; url: string; log: Log; peers: Peers | undefined; replacements: Replacements }

export const openParts = async ({ config, url, log, peers, replacements }: Needs) => {
  const foundation = await openFoundation(config, url, log, peers)
  const platform = makePlatform(foundation)
  const sending = makeSending(foundation, platform, replacements)
  peers?.provideCodes(() => codeTexts(sending.outbox))
  const oauth = makeOAuth(foundation)
  const people = makePeople({ foundation, platform, sending, oauth, replacements })
  await sending.messages.sms.handovers.start()
  const delivery = makeDelivery(foundation, sending, replacements)
  const senders = makeSmsRegistration(foundation, sending, replacements)
  const billing = await makeBilling(foundation, platform, people)
  const exports = makeExports(foundation, people, replacements)
  const team = makeTeam({ foundation, platform, people, sending, senders, billing, exports, oauth, replacements })
  const sso = makeSso(foundation, people, sending)
  return {
    foundation,
    platform,
    sending,
    delivery,
    senders,
    resources: makeResources({ foundation, platform, sending, delivery }),
    people,
    team,
    billing,
    exports,
    health: makeHealthOf(foundation, sending),
    oauth,
    sso,
    scim: makeScim({ foundation, people, team, sso, replacements }),
    replacements,
  }
}

export type ServiceParts = Awaited<ReturnType<typeof openParts>>
