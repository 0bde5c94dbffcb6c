/** The routes under /api/v1. A new capability adds its routes here. */
import type { Route } from '../http/route.ts'
import { analyticsRoutes } from '../http/v1/analytics.ts'
import { audienceMemberRoutes } from '../http/v1/audience-members.ts'
import { audienceSendRoutes } from '../http/v1/audience-send.ts'
import { audienceRoutes } from '../http/v1/audiences.ts'
import { brandRoutes } from '../http/v1/brands.ts'
import { campaignRoutes } from '../http/v1/campaigns.ts'
import { contactRoutes } from '../http/v1/contacts.ts'
import { dltRoutes } from '../http/v1/dlt.ts'
import { domainRoutes } from '../http/v1/domains.ts'
import { emailRoutes } from '../http/v1/emails.ts'
import { inboundRoutes } from '../http/v1/inbound.ts'
import { ipPoolRoutes } from '../http/v1/ip-pools.ts'
import { jobRoutes } from '../http/v1/jobs.ts'
import { keyRoutes } from '../http/v1/keys.ts'
import { phoneNumberRoutes } from '../http/v1/phone-numbers.ts'
import { poolRoutes } from '../http/v1/pools.ts'
import { projectRoutes } from '../http/v1/projects.ts'
import { smsRoutes } from '../http/v1/sms.ts'
import { suppressionRoutes } from '../http/v1/suppressions.ts'
import { templateRoutes } from '../http/v1/templates.ts'
import { tenantRoutes } from '../http/v1/tenants.ts'
import { usageRoutes } from '../http/v1/usage.ts'
import { verificationRoutes } from '../http/v1/verifications.ts'
import { webhookRoutes } from '../http/v1/webhooks.ts'
import type { Foundation } from './foundation.ts'
import type { Platform } from './platform.ts'
import type { SmsRegistration } from './registration.ts'
import type { Resources } from './resources.ts'
import type { Sending } from './sending.ts'

/** What additional routes of tests and benchmarks can use. */
export type Modules = Pick<Foundation, 'db' | 'clock' | 'audit' | 'writtenEntries' | 'appendEvents' | 'processes'> &
  Pick<Platform, 'usage'> &
  Pick<
    Sending,
    | 'templates'
    | 'outbox'
    | 'emailProvider'
    | 'smsProvider'
    | 'senders'
    | 'suppress'
    | 'links'
    | 'messages'
    | 'verifications'
  >

type Needs = { foundation: Foundation; sending: Sending; senders: SmsRegistration; resources: Resources }

export const makeRoutes = ({ foundation, sending, senders, resources }: Needs): Route[] => {
  const { clock, reads } = foundation
  const { db } = reads
  const { messages, templates, manageDomains } = sending
  const { audiences, blasts, tenants } = resources
  return [
    ...audienceSendRoutes(blasts),
    ...analyticsRoutes({ read: resources.analytics }),
    ...audienceRoutes({ db, manage: audiences.manage }),
    ...audienceMemberRoutes(audiences),
    ...contactRoutes({ db, manage: audiences.contacts }),
    ...brandRoutes({ db, ...senders.brands }),
    ...campaignRoutes({ db, ...senders.campaigns }),
    ...dltRoutes({ db, manage: resources.dlt }),
    ...domainRoutes({ manage: manageDomains, hosts: sending.mailHosts }),
    ...emailRoutes({ ...messages.emails, cancel: messages.cancel, read: messages.read }),
    ...inboundRoutes({ read: sending.inbound.read }),
    ...ipPoolRoutes({ db, manage: resources.ipPools }),
    ...jobRoutes(blasts),
    ...keyRoutes({ db, manage: resources.keys }),
    ...phoneNumberRoutes({ db, ...senders.phoneNumbers }),
    ...poolRoutes({ db, manage: resources.pools }),
    ...projectRoutes({ db, manage: resources.projects }),
    ...smsRoutes({ ...messages.sms, cancel: messages.cancel, read: messages.read }),
    ...suppressionRoutes({ db, ...resources.suppressions }),
    ...templateRoutes({ db, manage: resources.templates, render: templates }),
    ...tenantRoutes({ db, ...tenants }),
    ...usageRoutes({ clock, read: resources.usage, tenants: tenants.lifecycle }),
    ...verificationRoutes(sending.verifications),
    ...webhookRoutes({ db, ...resources.webhooks }),
  ]
}
