/** The routes under /api/v1. A new capability adds its routes here. */
import type { PublicRoute } from '../../interfaces/http/route.ts'
import { analyticsRoutes } from '../../interfaces/http/v1/analytics.ts'
import { audienceMemberRoutes } from '../../interfaces/http/v1/audience-members.ts'
import { audienceRoutes, audienceSendRoutes } from '../../interfaces/http/v1/audiences.ts'
import { brandRoutes } from '../../interfaces/http/v1/brands.ts'
import { campaignRoutes } from '../../interfaces/http/v1/campaigns.ts'
import { contactRoutes } from '../../interfaces/http/v1/contacts.ts'
import { dltRoutes } from '../../interfaces/http/v1/dlt.ts'
import { domainRoutes } from '../../interfaces/http/v1/domains.ts'
import { emailRoutes } from '../../interfaces/http/v1/emails.ts'
import { inboundRoutes } from '../../interfaces/http/v1/inbound.ts'
import { ipPoolRoutes } from '../../interfaces/http/v1/ip-pools.ts'
import { jobRoutes } from '../../interfaces/http/v1/jobs.ts'
import { keyRoutes } from '../../interfaces/http/v1/keys.ts'
import { phoneNumberRoutes } from '../../interfaces/http/v1/phone-numbers.ts'
import { poolRoutes } from '../../interfaces/http/v1/pools.ts'
import { projectRoutes } from '../../interfaces/http/v1/projects.ts'
import { smsRoutes } from '../../interfaces/http/v1/sms.ts'
import { suppressionRoutes } from '../../interfaces/http/v1/suppressions.ts'
import { templateRoutes } from '../../interfaces/http/v1/templates.ts'
import { tenantRoutes } from '../../interfaces/http/v1/tenants.ts'
import { usageRoutes } from '../../interfaces/http/v1/usage.ts'
import { verificationRoutes } from '../../interfaces/http/v1/verifications.ts'
import { webhookRoutes } from '../../interfaces/http/v1/webhooks.ts'
import type { Foundation } from './foundation.ts'
import type { Platform } from './platform.ts'
import type { Sending } from './sending.ts'
import type { ServiceParts } from './service-parts.ts'

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

export const makeRoutes = ({ foundation, sending, senders, resources }: ServiceParts): PublicRoute[] => {
  const { clock } = foundation
  const { messages, templates, manageDomains } = sending
  const { audiences, blasts, tenants } = resources
  return [
    ...audienceSendRoutes(blasts),
    ...analyticsRoutes({ read: resources.analytics }),
    ...audienceRoutes({ manage: audiences.manage }),
    ...audienceMemberRoutes(audiences),
    ...contactRoutes({ manage: audiences.contacts }),
    ...brandRoutes({ ...senders.brands }),
    ...campaignRoutes({ ...senders.campaigns }),
    ...dltRoutes({ manage: resources.dlt }),
    ...domainRoutes({ manage: manageDomains, hosts: sending.mailHosts }),
    ...emailRoutes({ ...messages.emails, cancel: messages.cancel, read: messages.read }),
    ...inboundRoutes({ read: sending.inbound.read }),
    ...ipPoolRoutes({ manage: resources.ipPools }),
    ...jobRoutes(blasts),
    ...keyRoutes({ manage: resources.keys }),
    ...phoneNumberRoutes({ ...senders.phoneNumbers }),
    ...poolRoutes({ manage: resources.pools }),
    ...projectRoutes({ manage: resources.projects }),
    ...smsRoutes({ ...messages.sms, cancel: messages.cancel, read: messages.read }),
    ...suppressionRoutes({ ...resources.suppressions }),
    ...templateRoutes({ manage: resources.templates, render: templates }),
    ...tenantRoutes({ ...tenants }),
    ...usageRoutes({ clock, read: resources.usage, tenants: tenants.lifecycle }),
    ...verificationRoutes(sending.verifications),
    ...webhookRoutes({ ...resources.webhooks }),
  ]
}
