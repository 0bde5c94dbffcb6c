/** Emails from the service itself to members of an org, sent through the same provider as customers' messages. */
import { findMembersInRoles } from '../accounts/store.ts'
import type { Db } from '../db/pool.ts'
import { type Clock, systemClock } from '../ground/clock.ts'
import { newId } from '../ground/ids.ts'
import type { EmailProvider } from '../providers/email/email-provider.ts'

export type Notice = { orgId: string; subject: string; text: string }

/** Emails all owners and developers, each separately so that they do not see each other's addresses. */
export type SendNotice = (notice: Notice) => Promise<void>

type Needs = { db: Db; clock: Clock; provider: Pick<EmailProvider, 'send'>; serviceDomain: string }

export const makeSendNotice =
  ({ db, clock, provider, serviceDomain }: Needs): SendNotice =>
  async ({ orgId, subject, text }) => {
    const members = await db.rows(findMembersInRoles, { orgId, roles: ['owner', 'developer'] })
    const from = { address: `notices@${serviceDomain}`, name: 'Tidings' }
    for (const { email } of members) {
      await provider.send({
        orgId,
        messageId: newId('message', clock.millis()),
        at: systemClock.now(),
        from,
        subject,
        text,
        html: null,
        to: [{ address: email, name: null }],
        cc: [],
        bcc: [],
        replyTo: [],
        headers: {},
        attachments: [],
        returnPath: null,
        dkim: null,
        region: 'us-east-1',
        ipPool: null,
      })
    }
  }
