/** The mail of an invitation, as text and as HTML. */
import type { Clock } from '../ground/clock.ts'
import { systemClock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { EmailProvider } from '../providers/email/email-provider.ts'
import type { InvitationMail } from './manage-invitations.ts'

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** Names are the customers' own words. A header takes one line, and a subject that is too long is cut by clients. */
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 80)

type Content = { subject: string; text: string; html: string }

const font = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

const htmlOf = (title: string, paragraphs: string[], url: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title></head>
<body style="margin:0;padding:32px 16px;background:#f7f8fa;color:#1b1f24;${font}">
<div style="max-width:480px;margin:0 auto;padding:32px;background:#ffffff;border:1px solid #e3e6ea;border-radius:12px">
<p style="margin:0 0 24px;font-size:14px;font-weight:600;color:#5b6470">Tidings</p>
<h1 style="margin:0 0 16px;font-size:22px;line-height:28px">${escapeHtml(title)}</h1>
<p style="margin:0 0 24px;font-size:16px;line-height:24px">${escapeHtml(paragraphs[0] ?? '')}</p>
<p style="margin:0 0 16px"><a href="${escapeHtml(url)}" style="display:inline-block;padding:12px 24px;background:#1f4fd8;border-radius:8px;color:#ffffff;font-size:16px;text-decoration:none">Open the invitation</a></p>
<p style="margin:0 0 16px;font-size:14px;line-height:20px;color:#5b6470;word-break:break-all">${escapeHtml(url)}</p>
<p style="margin:0;font-size:14px;line-height:20px;color:#5b6470">${escapeHtml(paragraphs[1] ?? '')}</p>
</div>
</body>
</html>
`

export const invitationContent = (baseUrl: string, mail: InvitationMail): Content => {
  const org = oneLine(mail.orgName)
  const url = `${baseUrl}/invite?token=${mail.token}`
  const subject = `Invitation to ${org}`
  const paragraphs = [
    `${oneLine(mail.inviterName)} invites you to join ${org} as ${mail.role}.`,
    `The link works until ${mail.expiresAt.toUTCString()}, for ${mail.to} only. If you do not know the sender, ignore this mail.`,
  ]
  const text = `${paragraphs[0]}\n\nOpen the invitation:\n${url}\n\n${paragraphs[1]}\n`
  return { subject, text, html: htmlOf(subject, paragraphs, url) }
}

type Needs = {
  provider: Pick<EmailProvider, 'send'>
  clock: Clock
  log: Log
  baseUrl: () => string
  serviceDomain: string
}

export const makeMailInvitation =
  ({ provider, clock, log, baseUrl, serviceDomain }: Needs) =>
  async (mail: InvitationMail): Promise<void> => {
    const { subject, text, html } = invitationContent(baseUrl(), mail)
    try {
      await provider.send({
        orgId: mail.orgId,
        messageId: newId('message', clock.millis()),
        at: systemClock.now(),
        from: { address: `notices@${serviceDomain}`, name: 'Tidings' },
        to: [{ address: mail.to, name: null }],
        cc: [],
        bcc: [],
        replyTo: [],
        subject,
        text,
        html,
        headers: {},
        attachments: [],
        returnPath: null,
        dkim: null,
        region: 'us-east-1',
        ipPool: null,
      })
    } catch (error) {
      log.warn({ err: error, org_id: mail.orgId }, 'invitation mail failed')
      throw new Failure('MAIL_UNAVAILABLE', { cause: error })
    }
  }
