/**
 * Every check of a send to an audience before the messages of its recipients are rendered, and the plan of when each is
 * due. Nothing is stored.
 */
import type { Usage } from '../../customers/usage/reserve.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import { instantOfLocal } from '../../platform/ground/local-time.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import type { FindSuppressed } from '../../recipients/suppressions/find-suppressed.ts'
import type { BulkChannel, BulkSend } from '../messages/channel-adapter.ts'
import type { DraftCaller, SentBy } from '../messages/draft.ts'
import { staysScheduled } from '../messages/schedule.ts'
import { spendBy } from '../messages/sent-message.ts'
import type { RenderTemplates } from '../templates/render.ts'
import { type BlastRecipient, planSlots } from './plan-slots.ts'
import type { SendAudienceBody as Body } from './shapes.ts'
import { findSendAudience, listSendMembers, type SendAudience, type SendMember } from './store/recipient-rows.ts'

const maxAudienceSize = 10_000

export type AudienceCaller = DraftCaller & {
  /** Whether the key itself is bound to a tenant. */
  tenantBound: boolean
}

export type CheckedRequest = { audienceId: string; body: Body }

export type CheckNeeds = {
  db: Db
  clock: Clock
  channels: Record<'email' | 'sms', BulkChannel>
  sentBy: (caller: DraftCaller) => MaybePromise<SentBy>
  templates: RenderTemplates
  findSuppressed: FindSuppressed
  usage: Usage
}

/** Addresses per statement, so that other sends wait for a short one. */
const atOnce = 1_000

const distinctAddresses = (members: readonly SendMember[], { comparable }: BulkChannel) => {
  const byAddress = new Map<string, BlastRecipient>()
  for (const { id, address, bytes } of members) {
    if (address === null) continue
    const key = comparable(address)
    if (!byAddress.has(key)) byAddress.set(key, { contactId: id, address, bytes })
  }
  return byAddress
}

const byId = (a: SendMember, b: SendMember): number => (a.id < b.id ? -1 : 1)

export const makeCheckSend = (needs: CheckNeeds) => {
  const { db, clock, channels, usage, findSuppressed } = needs

  const startOf = ({ scheduled_local: local, scheduled_at_tz: zone }: Body): Date => {
    const timed = { scheduledAt: local === undefined || zone === undefined ? null : instantOfLocal(local, zone) }
    return staysScheduled(timed, clock) && timed.scheduledAt ? timed.scheduledAt : clock.now()
  }

  const audienceOf = async ({ orgId, tenantId }: DraftCaller, id: string): Promise<SendAudience> => {
    const audience = await orNotFound(db.row(findSendAudience, { orgId, id }))
    if (tenantId !== null && audience.tenant_id !== tenantId) throw new Failure('TENANT_FORBIDDEN')
    if (audience.tenant_id !== null && audience.tenant_status !== 'active') throw new Failure('TENANT_NOT_USABLE')
    return audience
  }

  const membersOf = async (orgId: string, audience: SendAudience, { channel }: Body): Promise<SendMember[]> => {
    const tenantId = audience.tenant_id
    const limit = maxAudienceSize + 1
    const members = await db.rows(listSendMembers, { orgId, tenantId, audienceId: audience.id, channel, limit })
    if (members.length > maxAudienceSize) throw new Failure('AUDIENCE_TOO_LARGE')
    return members.sort(byId)
  }

  /** Each address once, without those that are suppressed. */
  const chooseRecipients = async ({ orgId, tenantId }: SentBy, channel: BulkChannel, members: SendMember[]) => {
    const byAddress = distinctAddresses(members, channel)
    const addresses = [...byAddress.keys()]
    let suppressed = 0
    for (let from = 0; from < addresses.length; from += atOnce) {
      const values = addresses.slice(from, from + atOnce)
      const { name, broadcast } = channel
      for (const value of await findSuppressed({ orgId, tenantId, channel: name, values, broadcast })) {
        byAddress.delete(value)
        suppressed++
      }
    }
    return { recipients: [...byAddress.values()], suppressed }
  }

  const sendOf = (by: SentBy, body: Body): BulkSend => {
    const jobId = newId('job', clock.millis())
    return {
      by,
      // Every message has the same time as its job, so that all of them are in one partition.
      at: new Date(timeOfId(jobId)),
      jobId,
      from: body.from,
      template: body.template,
      trackOpens: body.track_opens,
      trackClicks: body.track_clicks,
      dltTemplateId: body.dlt_template_id ?? null,
    }
  }

  return async (caller: AudienceCaller, { body, audienceId }: CheckedRequest) => {
    const start = startOf(body)
    const audience = await audienceOf(caller, audienceId)
    const members = await membersOf(caller.orgId, audience, body)
    const by = { ...(await needs.sentBy(caller)), tenantId: audience.tenant_id }
    const { channel: name, template: slug, subject_variants: subjects = [] } = body
    const channel = channels[name]
    const send = sendOf(by, body)
    const template = await needs.templates.open(by, { slug, channel: name, subjects })
    await channel.checkSender(send)
    const { recipients, suppressed } = await chooseRecipients(by, channel, members)
    const addresses = recipients.map(({ address }) => address)
    await channel.checkDestinations(send, addresses)
    await usage.check({ ...spendBy({ by, channel: name }), units: recipients.length })
    const plan = await planSlots(recipients, body, { start, quietHours: audience.sms_quiet_hours })
    const checksMissing = !caller.tenantBound
    const composition = { channel, send, template, variables: body.variables, checksMissing }
    return { send, audienceId, body, total: members.length, suppressed, plan, composition }
  }
}
