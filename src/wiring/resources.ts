/** What the API and the dashboard do with each resource, built once, so that both behave alike. */
import { makeReadAnalytics } from '../analytics/read-analytics.ts'
import { makeExportCsv } from '../audiences/csv/export-csv.ts'
import { makeImportCsv } from '../audiences/csv/import-csv.ts'
import { makeFindContacts } from '../audiences/find-contacts.ts'
import { makeFindOrCreate } from '../audiences/find-or-create.ts'
import { makeManageAudiences } from '../audiences/manage-audiences.ts'
import { makeManageContacts } from '../audiences/manage-contacts.ts'
import { makeManageMembers } from '../audiences/manage-members.ts'
import { makeManageIpPools } from '../domains/manage-ip-pools.ts'
import { makeManageKeys } from '../keys/manage.ts'
import { makeManageProjects } from '../projects/manage.ts'
import { makeManageDlt } from '../senders/dlt/manage-dlt.ts'
import { makeManagePools } from '../senders/pools/manage-pools.ts'
import { makeAddSuppressions } from '../suppressions/add.ts'
import { makeFindSuppressions } from '../suppressions/find-suppressions.ts'
import { makeRemoveSuppression } from '../suppressions/remove.ts'
import { makeManageTemplates } from '../templates/manage.ts'
import { makeEraseTenant } from '../tenants/erase.ts'
import { makeTenantLifecycle } from '../tenants/lifecycle.ts'
import { makeReadUsage } from '../usage/read.ts'
import { makeFireWebhooks } from '../webhooks/fire.ts'
import { makeWebhookLimits } from '../webhooks/limits.ts'
import { makeManageWebhooks } from '../webhooks/manage.ts'
import { makeBlasts } from './blasts.ts'
import type { WebhookDelivery } from './delivery.ts'
import type { Foundation } from './foundation.ts'
import type { Platform } from './platform.ts'
import type { Sending } from './sending.ts'
import { tenantErasureSteps } from './tenant-erasure.ts'

/** A module with scheduled work of a tenant adds itself to the list. */
const makeTenants = ({ db, reads, clock, audit, appendEvents, caches }: Foundation, sending: Sending) => {
  const { messages } = sending
  const { forget } = caches
  return {
    lifecycle: makeTenantLifecycle({
      db: reads.db,
      clock,
      audit,
      forget,
      cancelScheduled: [messages.forTenant.cancel],
    }),
    erase: makeEraseTenant({
      db,
      clock,
      audit,
      appendEvents,
      forget,
      steps: tenantErasureSteps(sending),
    }),
  }
}

const makeAudiences = ({ db, reads, clock, audit }: Foundation) => {
  const readDb = reads.db
  const findOrCreate = makeFindOrCreate({ clock, audit })
  return {
    manage: makeManageAudiences({ db: readDb, clock, audit }),
    members: makeManageMembers({ db: readDb, clock, findOrCreate }),
    importCsv: makeImportCsv({ db, clock, audit }),
    exportCsv: makeExportCsv({ db: readDb }),
    contacts: makeManageContacts({ db: readDb, clock, audit, findOrCreate }),
    findContacts: makeFindContacts({ db: readDb }),
  }
}

const makeWebhooks = (
  { config, reads, clock, limiter, vault, audit }: Foundation,
  { agent }: Sending,
  delivery: WebhookDelivery,
) => ({
  manage: makeManageWebhooks({ db: reads.db, clock, audit, vault, agent, mayAllowInsecure: !config.production }),
  fire: makeFireWebhooks({
    db: reads.db,
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
  const { db, reads, clock, log, caches, audit } = foundation
  const readDb = reads.db
  const { forget } = caches
  return {
    analytics: makeReadAnalytics({ db: readDb, clock }),
    audiences: makeAudiences(foundation),
    blasts: makeBlasts(foundation, platform, sending),
    dlt: makeManageDlt({ db: readDb, clock, audit, forget }),
    ipPools: makeManageIpPools({ db: readDb, clock, audit, simulated: sending.simulated, forget }),
    keys: makeManageKeys({ db: readDb, clock, audit, forget }),
    pools: makeManagePools({ db: readDb, clock, audit, forget }),
    projects: makeManageProjects({ db: readDb, clock }),
    suppressions: {
      add: makeAddSuppressions({ db, clock, audit }),
      remove: makeRemoveSuppression({ db, clock, audit, log }),
      find: makeFindSuppressions({ db: readDb }),
    },
    templates: makeManageTemplates({ db: readDb, clock, audit, forget }),
    tenants: { create: platform.createTenants, ...makeTenants(foundation, sending) },
    usage: makeReadUsage({ db, usage: platform.usage }),
    webhooks: makeWebhooks(foundation, sending, delivery),
  }
}

export type Resources = ReturnType<typeof makeResources>
