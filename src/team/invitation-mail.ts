/** The mail of an invitation. */
import type { HandOverMail } from '../signin/hand-over-mail.ts'
import { composeMail, type MailContent } from '../signin/mail-templates.ts'
import type { InvitationMail } from './manage-invitations.ts'

/** Names are the customers' own words. A header takes one line, and a subject that is too long is cut by clients. */
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 80)

export const invitationContent = (baseUrl: string, mail: InvitationMail): MailContent => {
  const org = oneLine(mail.orgName)
  const until = mail.expiresAt.toUTCString()
  return composeMail(`Invitation to ${org}`, [
    { say: `${oneLine(mail.inviterName)} invites you to join ${org} as ${mail.role}.` },
    { button: 'Open the invitation', url: `${baseUrl}/invite?token=${mail.token}` },
    { small: `The link works until ${until}, for ${mail.to} only. If you do not know the sender, ignore this mail.` },
  ])
}

type Needs = { handOver: HandOverMail; baseUrl: () => string }

export const makeMailInvitation =
  ({ handOver, baseUrl }: Needs) =>
  (mail: InvitationMail): Promise<void> =>
    handOver(mail.to, mail.orgId, invitationContent(baseUrl(), mail))
