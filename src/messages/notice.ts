/** The service's own mail to the people of an org, through the provider that carries everybody's. */
import { findMembersInRoles } from '../accounts/store.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { newId } from '../ground/ids.ts'
import type { EmailProvider } from '../providers/email/email-provider.ts'

export type Notice = { orgId: string; subject: string; text: string }

/** Tells owners and developers. Each gets a mail of their own, so that none sees the others' addresses. */
export type SendNotice = (notice: Notice) => Promise<void>

type Needs = { db: Db; clock: Clock; provider: Pick<EmailProvider, 'send'>; serviceDomain: string }

export const makeSendNotice =
  ({ db, clock, provider, serviceDomain }: Needs): SendNotice =>
  async ({ orgId, subject, text }) => {
    const people = await db.rows(findMembersInRoles, { orgId, roles: ['owner', 'developer'] })
    const from = { address: `notices@${serviceDomain}`, name: 'Tidings' }
    for (const { email } of people) {
      const at = clock.now()
      await provider.send({
        orgId,
        messageId: newId('message', at.getTime()),
        at,
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
