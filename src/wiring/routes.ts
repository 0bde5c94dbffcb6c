/** The routes under /api/v1. A new capability adds its routes here. */
import { makeReadAnalytics } from '../analytics/read-analytics.ts'
import { makeExportCsv } from '../audiences/csv/export-csv.ts'
import { makeImportCsv } from '../audiences/csv/import-csv.ts'
import { makeFindOrCreate } from '../audiences/find-or-create.ts'
import { makeManageAudiences } from '../audiences/manage-audiences.ts'
import { makeManageContacts } from '../audiences/manage-contacts.ts'
import { makeManageMembers } from '../audiences/manage-members.ts'
import { eraseTenantAudiences } from '../audiences/store/audience-rows.ts'
import { eraseTenantContacts } from '../audiences/store/contact-rows.ts'
import { eraseTenantSubjects } from '../blasts/store/winner-rows.ts'
import { makeManageIpPools } from '../domains/manage-ip-pools.ts'
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
import { eraseTenantInbound } from '../inbound/store.ts'
import { makeManageKeys } from '../keys/manage.ts'
import { makeManageProjects } from '../projects/manage.ts'
import { makeManageDlt } from '../senders/dlt/manage-dlt.ts'
import { makeManagePools } from '../senders/pools/manage-pools.ts'
import {
  eraseTenantPoolRecipients,
  eraseTenantPools,
  eraseTenantRecipients,
  freeTenantSenders,
} from '../senders/store/pool-rows.ts'
import { makeAddSuppressions } from '../suppressions/add.ts'
import { makeRemoveSuppression } from '../suppressions/remove.ts'
import { eraseTenantSuppressions } from '../suppressions/store.ts'
import { makeManageTemplates } from '../templates/manage.ts'
import { eraseTenantTemplates } from '../templates/store.ts'
import { makeEraseTenant } from '../tenants/erase.ts'
import { makeTenantLifecycle } from '../tenants/lifecycle.ts'
import { makeReadUsage } from '../usage/read.ts'
import { makeFireWebhooks } from '../webhooks/fire.ts'
import { makeWebhookLimits } from '../webhooks/limits.ts'
import { makeManageWebhooks } from '../webhooks/manage.ts'
import { eraseTenantDeliveries } from '../webhooks/store/delivery-rows.ts'
import { eraseTenantEndpoints } from '../webhooks/store/endpoint-rows.ts'
import { makeBlasts } from './blasts.ts'
import type { WebhookDelivery } from './delivery.ts'
import type { Foundation } from './foundation.ts'
import type { Platform } from './platform.ts'
import type { SmsRegistration } from './registration.ts'
import type { Sending } from './sending.ts'

/** What additional routes of tests and benchmarks can use. */
export type Modules = Pick<Foundation, 'db' | 'clock' | 'audit' | 'writtenEntries' | 'appendEvents'> &
  Pick<Platform, 'usage'> &
  Pick<
    Sending,
    'templates' | 'outbox' | 'emailProvider' | 'smsProvider' | 'senders' | 'suppress' | 'links' | 'messages'
  >

type Needs = {
  foundation: Foundation
  platform: Platform
  sending: Sending
  delivery: WebhookDelivery
  senders: SmsRegistration
}

/** Modules with scheduled work or rows of a tenant add themselves to these lists. */
const makeTenants = ({ db, clock, audit, appendEvents, caches }: Foundation, sending: Sending) => {
  const { messages, verifications } = sending
  const { forget } = caches
  return {
    lifecycle: makeTenantLifecycle({ db, clock, audit, forget, cancelScheduled: [messages.forTenant.cancel] }),
    erase: makeEraseTenant({
      db,
      clock,
      audit,
      appendEvents,
      forget,
      steps: [
        { counts: 'messages_redacted', run: messages.forTenant.eraseMessages },
        { counts: 'message_events_deleted', run: messages.forTenant.eraseEvents },
        { counts: 'inbound_deleted', run: (tx, rows) => tx.change(eraseTenantInbound, rows) },
        { run: verifications.eraseForTenant },
        { run: (tx, rows) => tx.change(eraseTenantSubjects, rows) },
        { run: (tx, rows) => tx.change(eraseTenantAudiences, rows) },
        { counts: 'contacts_deleted', run: (tx, rows) => tx.change(eraseTenantContacts, rows) },
        { run: (tx, rows) => tx.change(eraseTenantPoolRecipients, rows) },
        { run: (tx, rows) => tx.change(eraseTenantRecipients, rows) },
        { run: (tx, rows) => tx.change(eraseTenantPools, rows) },
        { run: (tx, rows) => tx.change(freeTenantSenders, rows) },
        { run: (tx, rows) => tx.change(eraseTenantSuppressions, rows) },
        { run: (tx, rows) => tx.change(eraseTenantTemplates, rows) },
        { run: (tx, rows) => tx.change(eraseTenantEndpoints, rows) },
        { run: (tx, rows) => tx.change(eraseTenantDeliveries, rows) },
      ],
    }),
  }
}

const makeAudienceRoutes = ({ db, clock, audit }: Foundation): Route[] => {
  const findOrCreate = makeFindOrCreate({ clock, audit })
  return [
    ...audienceRoutes({ db, manage: makeManageAudiences({ db, clock, audit }) }),
    ...audienceMemberRoutes({
      members: makeManageMembers({ db, clock, findOrCreate }),
      importCsv: makeImportCsv({ db, clock, audit }),
      exportCsv: makeExportCsv({ db }),
    }),
    ...contactRoutes({ db, manage: makeManageContacts({ db, clock, audit, findOrCreate }) }),
  ]
}

export const makeRoutes = ({ foundation, platform, sending, delivery, senders }: Needs): Route[] => {
  const { db, clock, log, limiter, caches, vault, audit } = foundation
  const { createTenants, usage } = platform
  const { messages, templates, manageDomains, simulated, agent } = sending
  const { forget } = caches
  const { lifecycle, erase } = makeTenants(foundation, sending)
  const fireWebhooks = makeFireWebhooks({
    db,
    clock,
    audit,
    vault,
    send: delivery.attempt,
    wake: delivery.webhooks.wake,
    limits: makeWebhookLimits({ limiter, clock }),
  })
  const blasts = makeBlasts(foundation, platform, sending)
  return [
    ...audienceSendRoutes(blasts),
    ...analyticsRoutes({ read: makeReadAnalytics({ db, clock }) }),
    ...makeAudienceRoutes(foundation),
    ...brandRoutes({ db, ...senders.brands }),
    ...campaignRoutes({ db, ...senders.campaigns }),
    ...dltRoutes({ db, manage: makeManageDlt({ db, clock, audit, forget }) }),
    ...domainRoutes({ manage: manageDomains, hosts: sending.mailHosts }),
    ...emailRoutes({ ...messages.emails, cancel: messages.cancel, read: messages.read }),
    ...inboundRoutes({ read: sending.inbound.read }),
    ...ipPoolRoutes({ db, manage: makeManageIpPools({ db, clock, audit, simulated, forget }) }),
    ...jobRoutes(blasts),
    ...keyRoutes({ db, manage: makeManageKeys({ db, clock, audit, forget }) }),
    ...phoneNumberRoutes({ db, ...senders.phoneNumbers }),
    ...poolRoutes({ db, manage: makeManagePools({ db, clock, audit, forget }) }),
    ...projectRoutes({ db, manage: makeManageProjects({ db, clock }) }),
    ...smsRoutes({ ...messages.sms, cancel: messages.cancel, read: messages.read }),
    ...suppressionRoutes({
      db,
      add: makeAddSuppressions({ db, clock, audit }),
      remove: makeRemoveSuppression({ db, clock, audit, log }),
    }),
    ...templateRoutes({ db, manage: makeManageTemplates({ db, clock, audit, forget }), render: templates }),
    ...tenantRoutes({ db, create: createTenants, lifecycle, erase }),
    ...usageRoutes({ clock, read: makeReadUsage({ db, usage }), tenants: lifecycle }),
    ...verificationRoutes(sending.verifications),
    ...webhookRoutes({ db, manage: makeManageWebhooks({ db, clock, audit, vault, agent }), fire: fireWebhooks }),
  ]
}
