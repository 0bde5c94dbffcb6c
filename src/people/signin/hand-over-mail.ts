import { Failure } from '../../platform/ground/errors.ts'
import type { Log } from '../../platform/ground/log.ts'
import { withoutEffect } from '../../platform/ground/request-context.ts'
import type { SendServiceMail } from '../../providers/email/service-mail.ts'
import { HandoverFault } from '../../providers/handover.ts'
import type { MailContent } from './mail-templates.ts'

/**
 * Sends one mail of the service to a person, or throws MAIL_UNAVAILABLE. Sign-in calls it before it stores anything, so that
 * a person never has a challenge that no mail announced.
 */
export type HandOverMail = (to: string, orgId: string | null, content: MailContent) => Promise<void>

export const makeHandOverMail =
  ({ send, log }: { send: SendServiceMail; log: Log }): HandOverMail =>
  async (to, orgId, content) => {
    try {
      // A mail alone is no effect: a request that fails after it can be repeated.
      await withoutEffect(() => send({ orgId, to, ...content }))
    } catch (error) {
      if (!(error instanceof HandoverFault)) throw error
      log.warn({ kind: error.kind, provider: error.provider, reason: error.message }, 'mail of the service failed')
      throw new Failure('MAIL_UNAVAILABLE', { cause: error, retryAfter: 60 })
    }
  }
