/** Members, invitations, orgs and accounts, as people manage them in the dashboard. */
import { makeDeleteLog } from '../../journal/audit/delete-log.ts'
import { makeEraseActor } from '../../journal/audit/erase-actor.ts'
import { endSsoOfOrg } from '../../people/sso/manage-sso.ts'
import { makeAnswerInvitation } from '../../people/team/answer-invitation.ts'
import { makeDeleteAccount, makeLeaveOrgs } from '../../people/team/delete-account.ts'
import { makeCloseOrg, makeDeleteOrg, makePurgeOrgs } from '../../people/team/delete-org.ts'
import { makeMailInvitation, makeManageInvitations } from '../../people/team/manage-invitations.ts'
import { makeBeginOrg, makeManageOrgs } from '../../people/team/manage-orgs.ts'
import {
  makeEndMembership,
  makeLeaveTeam,
  makeListTeam,
  makeManageTeam,
  makeMovePointer,
  makeTransferOwnership,
} from '../../people/team/manage-team.ts'
import { stopJobsOfOrg } from '../../reports/exports/store/export-job-rows.ts'
import { assignedNumbers } from '../../senders/sms/store/phone-number-rows.ts'
import { cancelJobsOfOrg } from '../../sending/blasts/store/job-rows.ts'
import { deleteEndpointsOfOrg } from '../../webhooks/store/endpoint-rows.ts'
import type { BillingModule } from './billing.ts'
import type { Exports } from './exports.ts'
import type { Foundation } from './foundation.ts'
import type { OAuth } from './oauth.ts'
import type { People } from './people.ts'
import type { Platform } from './platform.ts'
import type { SmsRegistration } from './registration.ts'
import type { Replacements } from './replacements.ts'
import type { Sending } from './sending.ts'

type Needs = {
  foundation: Foundation
  platform: Platform
  people: People
  sending: Sending
  senders: SmsRegistration
  billing: BillingModule
  exports: Exports
  oauth: OAuth
  replacements: Replacements
}

const system = { kind: 'system' } as const
const page = 100

/** The scope of everything that an org has. */
const wholeOrg = (orgId: string) => ({ orgId, tenantId: null, environment: 'live', projectId: null }) as const

/** Gives back what a deleted org has elsewhere: the files of its exports, its numbers, the identities of its domains. */
const makeRelease = ({ foundation, sending, senders, exports }: Needs) => [
  exports.retention.removeOfOrg,
  async (orgId: string): Promise<void> => {
    for (;;) {
      const numbers = await foundation.db.rows(assignedNumbers, { orgId, limit: page })
      for (const { id } of numbers) await senders.phoneNumbers.release(wholeOrg(orgId), system, id)
      if (numbers.length < page) return
    }
  },
  async (orgId: string): Promise<void> => {
    for (;;) {
      const domains = await sending.manageDomains.list(wholeOrg(orgId), undefined, page)
      for (const { row } of domains) await sending.manageDomains.remove(wholeOrg(orgId), system, row.id)
      if (domains.length < page) return
    }
  },
]

export const makeTeam = (needs: Needs) => {
  const { foundation, platform, people, sending, replacements } = needs
  const { db, reads, clock, log, audit, auditNeeds, limiter, forget, baseUrl } = foundation
  const shared = { db, clock, log, audit, limiter }
  const movePointer = makeMovePointer(shared)
  const close = makeCloseOrg({
    ...shared,
    // Modules with work under way for an org add themselves to this list.
    endWork: [
      // Before the messages: afterwards no job adds any.
      (tx, work) => tx.change(cancelJobsOfOrg, work),
      sending.messages.cancelOfOrg,
      (tx, { orgId }) => tx.change(deleteEndpointsOfOrg, { orgId }),
      endSsoOfOrg,
      (tx, work) => tx.change(stopJobsOfOrg, work),
    ],
  })
  // Modules in which a member can have something, such as grants, add themselves to this list.
  const endMembership = makeEndMembership({
    ...shared,
    endWork: [needs.oauth.endGrants.ofMember, ...(replacements.endMemberWork ?? [])],
  })
  const mail = makeMailInvitation({ handOver: people.mail, baseUrl: baseUrl.read })
  return {
    endMembership,
    list: makeListTeam({ db: reads.db }),
    members: makeManageTeam({ ...shared, endMembership }),
    leave: makeLeaveTeam({ db, endMembership }),
    invitations: makeManageInvitations({ ...shared, mail }),
    answer: makeAnswerInvitation({ ...shared, join: people.join }),
    transfer: makeTransferOwnership({ db, movePointer }),
    orgs: makeManageOrgs({ ...shared, beginOrg: makeBeginOrg(shared) }),
    deleteOrg: makeDeleteOrg({ db, close, forget }),
    deleteAccount: makeDeleteAccount({
      ...shared,
      throttle: people.throttle,
      provePassword: people.provePassword,
      leave: makeLeaveOrgs({ movePointer, close }),
      endWork: [needs.oauth.endGrants.ofAccount],
      eraseActor: makeEraseActor(auditNeeds),
    }),
    purgeOrgs: makePurgeOrgs({
      ...shared,
      release: [needs.billing.cancelOfOrg, ...makeRelease(needs)],
      linkAudit: platform.chain.link,
      deleteLog: makeDeleteLog(auditNeeds),
    }),
  }
}

export type Team = ReturnType<typeof makeTeam>
