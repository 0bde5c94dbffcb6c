/** One message over SMTP is one call of POST /emails: the same rules to get in, the same schema, the same pipeline. */
import type { Admission } from '../admission/admit.ts'
import type { Actor } from '../audit/append.ts'
import { canonicalJson } from '../ground/canonical.ts'
import { sha256 } from '../ground/crypto.ts'
import { malformed } from '../ground/errors.ts'
import type { Log } from '../ground/log.ts'
import { unstorable, validate } from '../ground/validate.ts'
import type { Idempotency, IdempotencyClaim } from '../idempotency/claims.ts'
import { isIdempotencyKey, takesForKey } from '../idempotency/key.ts'
import type { Caller } from '../keys/caller.ts'
import type { DraftEmails } from '../messages/email/draft-emails.ts'
import type { EmailDraft } from '../messages/email/email-draft.ts'
import { SendEmail } from '../messages/email/shapes.ts'
import type { SendMessage } from '../messages/send.ts'
import type { TenantsByReference } from '../tenants/by-reference.ts'
import { compose } from './email-input.ts'
import type { MailParser } from './mail-parser.ts'

/** Who signed in, asked anew at every step: a key may be revoked while its connection lives. */
export type AuthenticatedSession = { key: string; orgId: string; address: string | null; client: string }

export interface Submit {
  /** Counts only what fails. Resolves with the org of the key. */
  signIn(by: Pick<AuthenticatedSession, 'key' | 'address'>): Promise<string>
  /** Before the message is read: counts it in the buckets of the key. */
  begin(by: AuthenticatedSession): Promise<void>
  /** Resolves with the id of the message. Nothing is sent when `gone` fires before it was read. */
  send(by: AuthenticatedSession, recipients: readonly string[], bytes: Buffer, gone: AbortSignal): Promise<string>
}

export type SubmitNeeds = {
  admission: Admission
  tenants: TenantsByReference
  idempotency: Idempotency
  drafts: DraftEmails
  send: SendMessage<EmailDraft>
  log: Log
}

const entry = { scope: 'send:email' } as const

export const makeSubmit = (needs: SubmitNeeds & { parser: MailParser }): Submit => {
  const { admission, tenants, idempotency, drafts, send, log, parser } = needs

  const sendClaimed = async (
    caller: Caller,
    body: SendEmail,
    actor: Actor,
    claim: IdempotencyClaim | undefined,
  ): Promise<string> => {
    try {
      return (await send.single(await drafts.single(caller, body), actor, claim)).id
    } catch (error) {
      if (claim) {
        await idempotency
          .free(claim)
          .catch((fault) => log.error({ err: fault }, 'an idempotency key could not be freed'))
      }
      throw error
    }
  }

  return {
    signIn: async ({ key, address }) => {
      const caller = await admission.pass({ key, address })
      await admission.narrow(caller, undefined, entry)
      return caller.orgId
    },
    begin: async ({ key, address }) => {
      const caller = await admission.pass({ key, address, onCount: () => undefined })
      await admission.narrow(caller, undefined, entry)
    },
    send: async ({ key, orgId, address, client }, recipients, bytes, gone) => {
      const mail = await parser.parse(bytes, { orgId, gone })
      const { input, tenantRef, idempotencyKey } = compose(mail, recipients)
      const admitted = await admission.narrow(await admission.pass({ key, address }), tenantRef, entry)
      const path = unstorable(input)
      if (path) throw malformed('Holds a character that cannot be stored.', path)
      const body = validate(SendEmail, input)
      if (idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey)) {
        throw malformed(takesForKey, ['headers', 'Idempotency-Key'])
      }
      gone.throwIfAborted()
      let { caller } = admitted
      const actor: Actor = { kind: 'key', keyId: caller.keyId, ip: address, userAgent: `SMTP ${client}` }
      if (admitted.newTenantRef !== undefined) {
        caller = { ...caller, tenantId: await tenants.findOrCreate(caller, actor, admitted.newTenantRef) }
      }
      if (idempotencyKey === undefined) return sendClaimed(caller, body, actor, undefined)
      const fingerprint = sha256(`SMTP\n${canonicalJson(input)}`)
      const outcome = await idempotency.claim(caller, idempotencyKey, fingerprint)
      if (outcome && 'replay' in outcome) return (JSON.parse(outcome.replay.body) as { id: string }).id
      return sendClaimed(caller, body, actor, outcome?.claim)
    },
  }
}
