/** What the API and the dashboard do with each resource, built once, so that both behave alike. */
import { makeManageKeys } from '../../customers/keys/manage.ts'
import { makeManageProjects } from '../../customers/projects/manage.ts'
import { makeEraseTenant } from '../../customers/tenants/erase.ts'
import { makeTenantLifecycle } from '../../customers/tenants/lifecycle.ts'
import { makeReadUsage } from '../../customers/usage/read.ts'
import { makeExportCsv } from '../../recipients/audiences/csv/export-csv.ts'
import { makeImportCsv } from '../../recipients/audiences/csv/import-csv.ts'
import { makeFindContacts } from '../../recipients/audiences/find-contacts.ts'
import { makeFindOrCreate } from '../../recipients/audiences/find-or-create.ts'
import { makeManageAudiences } from '../../recipients/audiences/manage-audiences.ts'
import { makeManageContacts } from '../../recipients/audiences/manage-contacts.ts'
import { makeManageMembers } from '../../recipients/audiences/manage-members.ts'
import { makeAddSuppressions } from '../../recipients/suppressions/add.ts'
import { makeFindSuppressions } from '../../recipients/suppressions/find-suppressions.ts'
import { makeReadSuppressions } from '../../recipients/suppressions/read-suppressions.ts'
import { makeRemoveSuppression } from '../../recipients/suppressions/remove.ts'
import { makeReadAnalytics } from '../../reports/analytics/read-analytics.ts'
import { makeReadSetup } from '../../reports/overview/read-setup.ts'
import { makeManageIpPools } from '../../senders/domains/manage-ip-pools.ts'
import { makeManageDlt } from '../../senders/sms/dlt/manage-dlt.ts'
import { makeManagePools } from '../../senders/sms/pools/manage-pools.ts'
import { makeCancelJob } from '../../sending/blasts/cancel-job.ts'
import { makeCreateJob } from '../../sending/blasts/create-job.ts'
import { makeEstimateSend } from '../../sending/blasts/estimate-send.ts'
import { makeReadJobs } from '../../sending/blasts/read.ts'
import { makeSendToAudience } from '../../sending/blasts/send-to-audience.ts'
import { makeManageTemplates } from '../../sending/templates/manage.ts'
import { makeFireWebhooks } from '../../webhooks/fire.ts'
import { makeWebhookLimits } from '../../webhooks/limits.ts'
import { makeListDeliveries } from '../../webhooks/list-deliveries.ts'
import { makeManageWebhooks } from '../../webhooks/manage.ts'
import type { WebhookDelivery } from './delivery.ts'
import type { Foundation } from './foundation.ts'
import type { Platform } from './platform.ts'
import type { Sending } from './sending.ts'
import { tenantErasureSteps } from './tenant-erasure.ts'

/** A module with scheduled work of a tenant adds itself to the list. */
const makeTenants = (foundation: Foundation, sending: Sending) => {
  const cancelScheduled = [sending.messages.forTenant.cancel]
  return {
    lifecycle: makeTenantLifecycle({ ...foundation, db: foundation.reads.db, cancelScheduled }),
    erase: makeEraseTenant({ ...foundation, steps: tenantErasureSteps(sending) }),
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

/** Sends to audiences and their jobs. */
const makeBlasts = (
  { db, reads, clock, log, audit, appendEvents, idempotency }: Foundation,
  { usage }: Platform,
  { messages, templates }: Sending,
) => {
  const check = {
    db,
    clock,
    usage,
    templates,
    channels: messages.bulk,
    sentBy: messages.sentBy,
    findSuppressed: messages.findSuppressed,
  }
  const jobs = makeCreateJob({ db, clock, audit, appendEvents, idempotency })
  return {
    send: makeSendToAudience({ ...check, log, jobs }),
    estimate: makeEstimateSend(check),
    read: makeReadJobs({ db: reads.db }),
    cancel: makeCancelJob({ db, clock, audit, appendEvents }),
  }
}

const makeWebhooks = (foundation: Foundation, { agent }: Sending, { attempt, webhooks }: WebhookDelivery) => {
  const shared = { ...foundation, db: foundation.reads.db }
  return {
    manage: makeManageWebhooks({ ...shared, agent, mayAllowInsecure: !foundation.config.production }),
    deliveries: makeListDeliveries(shared),
    fire: makeFireWebhooks({ ...shared, send: attempt, wake: webhooks.wake, limits: makeWebhookLimits(foundation) }),
  }
}

type Needs = { foundation: Foundation; platform: Platform; sending: Sending; delivery: WebhookDelivery }

export const makeResources = ({ foundation, platform, sending, delivery }: Needs) => {
  const { db, reads, clock, log, forget, audit } = foundation
  const readDb = reads.db
  return {
    analytics: makeReadAnalytics({ db: readDb, clock }),
    audiences: makeAudiences(foundation),
    blasts: makeBlasts(foundation, platform, sending),
    dlt: makeManageDlt({ db: readDb, clock, audit, forget }),
    ipPools: makeManageIpPools({ db: readDb, clock, audit, simulated: sending.simulated, forget }),
    keys: makeManageKeys({ db: readDb, clock, audit, forget }),
    pools: makeManagePools({ db: readDb, clock, audit, forget }),
    setup: makeReadSetup({ db: readDb }),
    projects: makeManageProjects({ db: readDb, clock }),
    suppressions: {
      add: makeAddSuppressions({ db, clock, audit }),
      remove: makeRemoveSuppression({ db, clock, audit, log }),
      find: makeFindSuppressions({ db: readDb }),
      read: makeReadSuppressions({ db: readDb }),
    },
    templates: makeManageTemplates({ db: readDb, clock, audit, forget }),
    tenants: { create: platform.createTenants, ...makeTenants(foundation, sending) },
    usage: makeReadUsage({ db, usage: platform.usage }),
    webhooks: makeWebhooks(foundation, sending, delivery),
  }
}

export type Resources = ReturnType<typeof makeResources>
