/** What the API and the dashboard do with each resource, built once, so that both behave alike. */
import { makeReadAnalytics } from '../analytics/read-analytics.ts'
import { makeExportCsv } from '../audiences/csv/export-csv.ts'
import { makeImportCsv } from '../audiences/csv/import-csv.ts'
import { makeFindContacts } from '../audiences/find-contacts.ts'
import { makeFindOrCreate } from '../audiences/find-or-create.ts'
import { makeManageAudiences } from '../audiences/manage-audiences.ts'
import { makeManageContacts } from '../audiences/manage-contacts.ts'
import { makeManageMembers } from '../audiences/manage-members.ts'
import { eraseTenantAudiences } from '../audiences/store/audience-rows.ts'
import { eraseTenantContacts } from '../audiences/store/contact-rows.ts'
import { eraseTenantSubjects } from '../blasts/store/winner-rows.ts'
import { makeManageIpPools } from '../domains/manage-ip-pools.ts'
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
import { makeFindSuppressions } from '../suppressions/find-suppressions.ts'
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
import type { Sending } from './sending.ts'

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

const makeAudiences = ({ db, clock, audit }: Foundation) => {
  const findOrCreate = makeFindOrCreate({ clock, audit })
  return {
    manage: makeManageAudiences({ db, clock, audit }),
    members: makeManageMembers({ db, clock, findOrCreate }),
    importCsv: makeImportCsv({ db, clock, audit }),
    exportCsv: makeExportCsv({ db }),
    contacts: makeManageContacts({ db, clock, audit, findOrCreate }),
    findContacts: makeFindContacts({ db }),
  }
}

const makeWebhooks = (
  { db, clock, limiter, vault, audit }: Foundation,
  { agent }: Sending,
  delivery: WebhookDelivery,
) => ({
  manage: makeManageWebhooks({ db, clock, audit, vault, agent }),
  fire: makeFireWebhooks({
    db,
    clock,
    audit,
    vault,
    send: delivery.attempt,
    wake: delivery.webhooks.wake,
    limits: makeWebhookLimits({ limiter, clock }),
  }),
})

type Needs = { foundation: Foundation; platform: Platform; sending: Sending; delivery: WebhookDelivery }

export const makeResources = ({ foundation, platform, sending, delivery }: Needs) => {
  const { db, clock, log, caches, audit } = foundation
  const { forget } = caches
  return {
    analytics: makeReadAnalytics({ db, clock }),
    audiences: makeAudiences(foundation),
    blasts: makeBlasts(foundation, platform, sending),
    dlt: makeManageDlt({ db, clock, audit, forget }),
    ipPools: makeManageIpPools({ db, clock, audit, simulated: sending.simulated, forget }),
    keys: makeManageKeys({ db, clock, audit, forget }),
    pools: makeManagePools({ db, clock, audit, forget }),
    projects: makeManageProjects({ db, clock }),
    suppressions: {
      add: makeAddSuppressions({ db, clock, audit }),
      remove: makeRemoveSuppression({ db, clock, audit, log }),
      find: makeFindSuppressions({ db }),
    },
    templates: makeManageTemplates({ db, clock, audit, forget }),
    tenants: { create: platform.createTenants, ...makeTenants(foundation, sending) },
    usage: makeReadUsage({ db, usage: platform.usage }),
    webhooks: makeWebhooks(foundation, sending, delivery),
  }
}

export type Resources = ReturnType<typeof makeResources>
