/** Emails from the service itself to members of an org. */
import { findMembersInRoles } from '../../customers/accounts/store/account-rows.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { EmailProvider } from '../../providers/email/email-provider.ts'
import { makeSendServiceMail } from '../../providers/email/service-mail.ts'

type Needs = { db: Db; clock: Clock; provider: Pick<EmailProvider, 'send'>; serviceDomain: string }

/** Emails all owners and developers, each separately so that they do not see each other's addresses. */
export const makeSendNotice = ({ db, ...needs }: Needs) => {
  const send = makeSendServiceMail(needs)
  return async ({ orgId, subject, text }: { orgId: string; subject: string; text: string }): Promise<void> => {
    const members = await db.rows(findMembersInRoles, { orgId, roles: ['owner', 'developer'] })
    for (const { email } of members) await send({ orgId, to: email, subject, text, html: null })
  }
}
