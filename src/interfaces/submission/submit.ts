/** Treats a message over SMTP as a call to POST /emails, with the same admission, schema and pipeline. */
import type { Admission } from '../../customers/admission/admit.ts'
import type { Caller } from '../../customers/keys/caller.ts'
import type { Callers } from '../../customers/keys/callers.ts'
import type { TenantsByReference } from '../../customers/tenants/by-reference.ts'
import type { Actor } from '../../journal/audit/append.ts'
import { hashCanonical } from '../../platform/ground/canonical.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure, malformed } from '../../platform/ground/errors.ts'
import type { Log } from '../../platform/ground/log.ts'
import { unstorable, validate } from '../../platform/ground/validate.ts'
import type { Idempotency, IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import { idempotencyKeyRule, isIdempotencyKey } from '../../platform/idempotency/key.ts'
import type { DraftEmails } from '../../sending/messages/email/draft-emails.ts'
import type { EmailDraft } from '../../sending/messages/email/email-draft.ts'
import { type SendEmail, SubmittedEmail } from '../../sending/messages/email/shapes.ts'
import type { SendMessage } from '../../sending/messages/send.ts'
import { emailInputOf } from './email-input.ts'
import { makeExplainRefusal } from './explain-refusal.ts'
import type { MailParser } from './mail-parser.ts'

/** The key is checked again at every step, because it may be revoked while the connection is open. */
export type AuthenticatedSession = { key: string; orgId: string; address: string | null; client: string }

type Login = Pick<AuthenticatedSession, 'key' | 'address'> & { user: string }

export type SubmitNeeds = {
  admission: Admission
  callers: Pick<Callers, 'faultOf'>
  clock: Clock
  tenants: TenantsByReference
  idempotency: Idempotency
  drafts: DraftEmails
  send: SendMessage<EmailDraft>
  /** Called with the org after a message was sent or refused. */
  wrote?: ((subjects: readonly string[]) => void | Promise<void>) | undefined
  log: Log
}

const required = { scope: 'send:email' } as const

export const makeSubmit = (needs: SubmitNeeds & { parser: MailParser }) => {
  const { admission, tenants, idempotency, drafts, send, wrote, log, parser, clock } = needs
  const explain = makeExplainRefusal(needs.callers)

  const sendClaimed = async (
    caller: Caller,
    body: SendEmail,
    actor: Actor,
    claim: IdempotencyClaim | undefined,
  ): Promise<string> => {
    try {
      return (await send.single(await drafts.single(caller, body, claim), actor, claim)).id
    } catch (error) {
      const tookEffect = error instanceof Failure && error.detail.done
      if (claim && !tookEffect) {
        await idempotency.free(claim).catch((err) => log.error({ err }, 'idempotency key release failed'))
      }
      throw error
    } finally {
      await wrote?.([caller.orgId])
    }
  }

  return {
    /** Counts failed attempts only. Resolves with the org of the key. */
    signIn: async ({ user, key, address }: Login): Promise<string> => {
      try {
        const caller = await admission.pass({ key, address })
        await admission.narrow(caller, undefined, required)
        return caller.orgId
      } catch (error) {
        throw await explain(error, { user, key }, clock.millis())
      }
    },
    /** Counts the message toward the rate limits of the key, before the message is read. */
    begin: async ({ key, address }: AuthenticatedSession): Promise<void> => {
      const caller = await admission.pass({ key, address, onCount: () => undefined })
      await admission.narrow(caller, undefined, required)
    },
    /** Resolves with the id of the message. Sends nothing when `gone` fires before the message is parsed. */
    send: async (
      by: AuthenticatedSession,
      recipients: readonly string[],
      bytes: Buffer,
      gone: AbortSignal,
    ): Promise<string> => {
      const { key, orgId, address, client } = by
      const mail = await parser.parse(bytes, { orgId, gone })
      const { input, tenantRef, idempotencyKey } = emailInputOf(mail, recipients)
      const admitted = await admission.narrow(await admission.pass({ key, address }), tenantRef, required)
      const path = unstorable(input)
      if (path) throw malformed('Contains a character that cannot be stored.', path)
      const body = validate(SubmittedEmail, input)
      if (idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey)) {
        throw malformed(idempotencyKeyRule, ['headers', 'Idempotency-Key'])
      }
      gone.throwIfAborted()
      let { caller } = admitted
      const actor: Actor = { kind: 'key', keyId: caller.keyId, ip: address, userAgent: `SMTP ${client}` }
      if (admitted.newTenantRef !== undefined) {
        caller = { ...caller, tenantId: await tenants.findOrCreate(caller, actor, admitted.newTenantRef) }
      }
      if (idempotencyKey === undefined) return sendClaimed(caller, body, actor, undefined)
      const fingerprint = await hashCanonical('SMTP\n', input)
      const outcome = await idempotency.claim(caller, idempotencyKey, fingerprint)
      if (outcome && 'replay' in outcome) return (JSON.parse(outcome.replay.body) as { id: string }).id
      return sendClaimed(caller, body, actor, outcome?.claim)
    },
  }
}

export type Submit = ReturnType<typeof makeSubmit>
