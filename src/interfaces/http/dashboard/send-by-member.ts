/** Routes with which a member sends one message: a test of a template, and a message that they wrote. */
import { z } from 'zod'
import type { Actor } from '../../../journal/audit/append.ts'
import { givenId } from '../../../platform/ground/bounded-text.ts'
import { type Channel, channels } from '../../../platform/ground/channel.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { megabyte } from '../../../platform/ground/units.ts'
import { HandoverFault } from '../../../providers/handover.ts'
import type { Draft, DraftCaller } from '../../../sending/messages/draft.ts'
import type { DraftEmails } from '../../../sending/messages/email/draft-emails.ts'
import type { EmailDraft } from '../../../sending/messages/email/email-draft.ts'
import { AcceptedEmail, maxMailboxLength, maxRecipients, SendEmail } from '../../../sending/messages/email/shapes.ts'
import type { SendMessage } from '../../../sending/messages/send.ts'
import type { AcceptedMessage } from '../../../sending/messages/sent-message.ts'
import { refusingOtherSends } from '../../../sending/messages/shapes.ts'
import type { DraftSms } from '../../../sending/messages/sms/draft-sms.ts'
import { AcceptedSms, assertMedia, SendSms } from '../../../sending/messages/sms/shapes.ts'
import type { SmsDraft } from '../../../sending/messages/sms/sms-draft.ts'
import type { ManageTemplates } from '../../../sending/templates/manage.ts'
import { maxVariableValues, VariablesShape } from '../../../sending/templates/variables.ts'
import { scopeOf, userActor } from '../actor.ts'
import { validate } from '../read-request.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import type { MemberSender } from './tenant-scope.ts'

const address = z.string().min(1).max(maxMailboxLength)

export const TestSend = refusingOtherSends(
  z.object({
    id: givenId,
    from: address,
    /** A list is for emails. */
    to: z.union([address, z.array(address).min(1).max(maxRecipients)]),
    variables: VariablesShape.default({}),
  }),
)

/** The other fields are those of the email or the text message, which the public API's schema validates. */
export const Compose = z.looseObject({
  channel: z.enum(channels),
  environment: z.enum(['live', 'test']).default('live'),
  tenant_id: givenId.nullish(),
})

const TestSent = z.strictObject({ id: z.string(), status: z.literal('sent') })

type Sends<D extends Draft> = { send: SendMessage<D>; sendAtOnce: SendMessage<D> }

type Channels = {
  emails: Sends<EmailDraft> & { drafts: DraftEmails }
  sms: Sends<SmsDraft> & { drafts: DraftSms }
}

type Needs = Channels & { templates: Pick<ManageTemplates, 'get'>; senderOf: MemberSender }

/** The fault of the provider, which a person wants to see. */
const providerFault = (error: unknown): unknown => {
  const fault = error instanceof Failure ? error.cause : undefined
  if (!(fault instanceof HandoverFault)) return error
  const { extra } = (error as Failure).detail
  return new Failure('PROVIDER_ERROR', { message: fault.message, cause: fault, logged: true, ...(extra && { extra }) })
}

type Given = { channel: Channel; caller: DraftCaller; actor: Actor; body: object }

/** Validates the body like a request to the API, and sends the message. */
const makeSendAs = ({ emails, sms }: Channels, how: keyof Sends<EmailDraft>) => {
  const send = async ({ channel, caller, actor, body }: Given): Promise<AcceptedMessage> => {
    if (channel === 'email') {
      const draft = await emails.drafts.single(caller, validate(SendEmail, body))
      return emails[how].single(draft, actor, undefined)
    }
    const given = validate(SendSms, body)
    assertMedia(given.media_url)
    return sms[how].single(await sms.drafts.single(caller, given), actor, undefined)
  }
  return (given: Given): Promise<AcceptedMessage> =>
    send(given).catch((error) => {
      throw providerFault(error)
    })
}

const recipientsFor = (channel: Channel, to: string | string[]) => {
  const list = [to].flat()
  if (channel === 'email') return list
  return list.length === 1 ? list[0] : list
}

export const sendByMemberRoutes = (needs: Needs): DashboardRoute[] => {
  const sendAtOnce = makeSendAs(needs, 'sendAtOnce')
  const send = makeSendAs(needs, 'send')
  return [
    defineRoute('POST', '/api/internal/templates/test-send', bySession('requireWriteSession'), {
      body: TestSend,
      bounds: { values: maxVariableValues + 100 },
      responses: { 200: TestSent },
      handle: async (call) => {
        const { id, from, to, variables } = call.body
        const template = await needs.templates.get(scopeOf(call.session), id)
        const { channel, slug, tenant_id: tenantId } = template
        const body = {
          from,
          to: recipientsFor(channel, to),
          template: slug,
          variables,
          tags: ['template-test'],
          metadata: { source: 'test_send' },
        }
        const caller = await needs.senderOf(call.session, { tenantId })
        const sent = await sendAtOnce({ channel, caller, actor: userActor(call), body })
        return ok({ id: sent.id, status: sent.status })
      },
    }),
    defineRoute('POST', '/api/internal/messages/send', bySession('requireDeveloperSession'), {
      body: Compose,
      bodyLimit: 10 * megabyte,
      bounds: { values: maxVariableValues + 1_000 },
      responses: { 200: z.union([AcceptedEmail, AcceptedSms]) },
      handle: async (call) => {
        const { channel, environment, tenant_id: tenantId, ...body } = call.body
        const caller = await needs.senderOf(call.session, { environment, tenantId })
        return ok(await send({ channel, caller, actor: userActor(call), body }))
      },
    }),
  ]
}
