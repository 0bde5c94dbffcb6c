/** Sending: domains, templates, tracking, suppressions, providers, the message pipeline, receiving, and one-time codes. */
import { makeSmsGeo } from '../../customers/orgs/sms-geo.ts'
import { makeGuardedAgent } from '../../platform/outgoing/guarded.ts'
import { openDomainIdentities, openEmailProvider } from '../../providers/email/open-email-provider.ts'
import { makeOutbox } from '../../providers/outbox/local-outbox.ts'
import { openSmsProvider } from '../../providers/sms/open-sms-provider.ts'
import { makeSuppress, type Suppress } from '../../recipients/suppressions/suppress.ts'
import { makeCheckDomains } from '../../senders/domains/check.ts'
import { dkimKeyContext, newDkimKey } from '../../senders/domains/dkim-key.ts'
import { makeCheckDns } from '../../senders/domains/dns.ts'
import { makeKeepIdentities } from '../../senders/domains/identities.ts'
import { makeManageDomains } from '../../senders/domains/manage.ts'
import { makeSenders } from '../../senders/domains/sender.ts'
import { makeServiceDkim, signServiceMail } from '../../senders/domains/service-dkim.ts'
import { makeResolveDlt } from '../../senders/sms/resolve-dlt.ts'
import { makeSmsSenders } from '../../senders/sms/sms-senders.ts'
import { makeFollowJobs } from '../../sending/blasts/follow-jobs.ts'
import { heldUntil } from '../../sending/blasts/quiet-hours.ts'
import { makeLongSms } from '../../sending/inbound/long-sms.ts'
import { makeReadInbound } from '../../sending/inbound/read.ts'
import { makeRedactInbound } from '../../sending/inbound/retention.ts'
import { makeTakeEmail } from '../../sending/inbound/take-email.ts'
import { makeTakeSms } from '../../sending/inbound/take-sms.ts'
import { plainReturnPath } from '../../sending/messages/email/email-draft.ts'
import { makeReturnPathOf } from '../../sending/messages/email/return-path.ts'
import { makeReturnTokens } from '../../sending/messages/email/return-token.ts'
import { type Messages, openMessages } from '../../sending/messages/open-messages.ts'
import { makeRenderTemplates } from '../../sending/templates/render.ts'
import { makeCountHits } from '../../sending/tracking/count.ts'
import { makeLinks } from '../../sending/tracking/links.ts'
import { makeTokens } from '../../sending/tracking/tokens.ts'
import { openVerifications } from '../../sending/verifications/open-verifications.ts'
import type { Foundation } from './foundation.ts'
import type { Platform } from './platform.ts'
import type { Replacements } from './replacements.ts'

const makeDomains = (foundation: Foundation, replacements: Replacements) => {
  const { config, db, reads, log, caches, vault } = foundation
  const { serviceDomain } = config
  const { trusted } = caches
  /** The local provider accepts any domain, and its DNS records count as published. */
  const simulated = config.emailProviders.includes('local')
  const mailHosts = { serviceDomain, ses: config.emailProviders.includes('ses') }
  const provider = openDomainIdentities(config)
  const identities = provider && makeKeepIdentities({ identities: provider, db, vault, log })
  const checkDns = makeCheckDns({ servers: config.dnsServers })
  const check = makeCheckDomains({ ...foundation, hosts: mailHosts, identities, simulated, checkDns })
  const newKey = replacements.newDkimKey ?? newDkimKey
  const manage = makeManageDomains({ ...foundation, db: reads.db, check, serviceDomain, identities, newKey })
  const open = (sealed: string, domainId: string) => vault.open(sealed, dkimKeyContext(domainId))
  const senders = caches.add(makeSenders({ db, trusted, serviceDomain, ownReturnPaths: !mailHosts.ses, open }))
  return {
    simulated,
    mailHosts,
    checkDomains: check,
    manageDomains: manage,
    senders,
    closeIdentities: async () => provider?.close(),
  }
}

const makeTracking = ({ config, db, clock, baseUrl, announcer }: Foundation) => {
  const { announce } = announcer
  const tokens = makeTokens({ masterKey: config.masterKey, previous: config.masterKeyPrevious })
  return {
    tokens,
    links: makeLinks({ tokens, baseUrl: baseUrl.read }),
    countHits: makeCountHits({ db, clock, announce }),
  }
}

/** Receiving: text messages and emails, their opt-outs and reads. */
const makeInbound = (foundation: Foundation, { suppress, messages }: { suppress: Suppress; messages: Messages }) => {
  const { config, db, reads, clock, log, appendEvents } = foundation
  const takeSms = makeTakeSms({ db, clock, log, suppress, appendEvents, handovers: messages.sms.handovers })
  return {
    takeSms,
    ...makeLongSms({ db, clock, log, takeSms }),
    takeEmail: makeTakeEmail({ db, clock, log, appendEvents }),
    read: makeReadInbound({ db: reads.db }),
    redact: makeRedactInbound({ db, clock, contentDays: config.messageContentDays }),
  }
}

export const makeSending = (foundation: Foundation, { usage }: Platform, replacements: Replacements) => {
  const { config, db, clock, log, caches, metrics, measure, appendEvents } = foundation
  const { serviceDomain, dnsServers, webhookAllowInsecure: allowInsecure } = config
  const domains = makeDomains(foundation, replacements)
  const tracking = makeTracking(foundation)
  const templates = caches.add(makeRenderTemplates({ db, trusted: caches.trusted }))
  const suppress = makeSuppress({ clock })
  const agent = replacements.agent ?? makeGuardedAgent({ allowInsecure, ...(dnsServers && { dnsServers }) })
  const outbox = makeOutbox({ db, log })
  const emailProvider = signServiceMail(openEmailProvider({ config, outbox, clock, log, measure: measure.handover }), {
    dkim: makeServiceDkim({ db, vault: foundation.vault, clock }),
    serviceDomain,
    log,
  })
  metrics.gauge('email_providers_failing', 'Email providers that are skipped after consecutive failures', () => {
    return emailProvider.states().filter(({ state }) => state !== 'closed').length
  })
  const returnTokens = makeReturnTokens({ masterKey: config.masterKey, previous: config.masterKeyPrevious })
  const configured = openSmsProvider({
    ...foundation,
    outbox,
    measure: measure.handover,
    // Receipts and inbound messages arrive only after the connection is open, and the modules exist by then.
    report: (notification) => verifications.outcomes.take(notification),
    onInbound: async (message) => (await inbound.takeSmsPart(message)).status !== 'unknown number',
  })
  metrics.gauge('sms_providers_failing', 'SMS providers that are skipped after consecutive failures', () => {
    return configured.states().filter(({ state }) => state !== 'closed').length
  })
  const smsProvider = replacements.smsProvider ?? configured
  const followJobs = makeFollowJobs({ db, clock, log, appendEvents })
  const messages = openMessages({
    ...foundation,
    readDb: foundation.reads.db,
    usage,
    announce: foundation.announcer.announce,
    templates,
    senders: domains.senders,
    links: tracking.links,
    suppress,
    emailProvider,
    geo: caches.add(makeSmsGeo({ db, trusted: caches.trusted })),
    smsSenders: caches.add(makeSmsSenders({ db, clock, trusted: caches.trusted })),
    resolveDlt: config.dltEnforce ? caches.add(makeResolveDlt({ db, trusted: caches.trusted })) : null,
    smsProvider,
    agent,
    serviceDomain,
    returnPathOf: config.inboundSmtp ? makeReturnPathOf({ tokens: returnTokens, serviceDomain }) : plainReturnPath,
    contentDays: config.messageContentDays,
    retentionDays: config.messageRetentionDays,
    onProviderOutage: config.onProviderOutage,
    heldUntil,
    onSent: followJobs.onSent,
  })
  const inbound = makeInbound(foundation, { suppress, messages })
  const verifications = openVerifications({
    ...foundation,
    usage,
    suppress,
    messages,
    masterKey: config.masterKey,
    previousMasterKeys: config.masterKeyPrevious,
    windowMs: replacements.verificationWindowMs,
  })
  const providers = { outbox, emailProvider, smsProvider }
  const pipelines = { messages, inbound, verifications, followJobs }
  return { ...domains, ...tracking, ...providers, ...pipelines, templates, suppress, agent, returnTokens }
}

export type Sending = ReturnType<typeof makeSending>
