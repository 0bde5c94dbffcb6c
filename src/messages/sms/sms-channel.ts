import type { Clock } from '../../ground/clock.ts'
import { Failure } from '../../ground/errors.ts'
import { instantOfLocal } from '../../ground/local-time.ts'
import { andThen } from '../../ground/maybe-promise.ts'
import { countryOf } from '../../ground/phone-number.ts'
import { segmentsOf } from '../../ground/segments.ts'
import type { Handover } from '../../providers/handover.ts'
import type { SmsProvider } from '../../providers/sms/sms-provider.ts'
import { simulateSms } from '../../providers/sms/sms-simulator.ts'
import type { FindSuppressed } from '../../suppressions/find-suppressed.ts'
import { mmsPrice, segmentPrice } from '../../usage/plan-limits.ts'
import type { Usage } from '../../usage/reserve.ts'
import type { ChannelAdapter } from '../channel-adapter.ts'
import { bySendKind } from '../draft.ts'
import { beforeHandover } from '../rows.ts'
import type { MessageRow, SmsFields } from '../store/message-row.ts'
import { type SmsGateNeeds, smsGates } from './gates/sms-gates.ts'
import { poolMemberGate } from './gates/sms-sender-gate.ts'
import { type SmsDraft, smsOf } from './sms-draft.ts'
import type { SmsHandovers } from './sms-handovers.ts'

type Needs = SmsGateNeeds & {
  clock: Clock
  usage: Usage
  provider: SmsProvider
  findSuppressed: FindSuppressed
  handovers: SmsHandovers
}

/** An MMS is billed as one message, whatever its length. */
const billedSegments = ({ body, mediaUrl }: SmsDraft): number => (mediaUrl.length > 0 ? 1 : segmentsOf(body))

const smsFields = (draft: SmsDraft): SmsFields => ({
  segments: billedSegments(draft),
  ...(draft.fromPool !== null && { from_pool: draft.fromPool }),
  ...(draft.mediaUrl.length > 0 && { media_url: draft.mediaUrl }),
  ...(draft.dltTemplateId !== null && { dlt_template_id: draft.dltTemplateId }),
  ...(draft.local && { scheduled_local: draft.local.time, scheduled_at_tz: draft.local.zone }),
})

const localOf = ({ scheduled_local: time, scheduled_at_tz: zone }: Partial<SmsFields>): SmsDraft['local'] =>
  time === undefined || zone === undefined ? null : { time, zone }

/** When a message for a local time is due, by the present rules of the zone. Null for any other message. */
export const localDueAt = ({ sms }: Pick<MessageRow, 'sms'>): Date | null => {
  const local = localOf(sms ?? {})
  return local && instantOfLocal(local.time, local.zone)
}

export const makeSmsChannel = (needs: Needs): ChannelAdapter<SmsDraft> => {
  const { clock, usage, provider, findSuppressed, handovers } = needs
  const recipientsOf = ({ by, to }: SmsDraft) => ({ tenantId: by.tenantId, values: [to], broadcast: false })

  /**
   * The recipient may have opted out since the draft was admitted: while it waited for its reservation, or between two
   * attempts. Nothing is handed over after an opt-out was stored.
   */
  const handOverUnlessSuppressed = async (draft: SmsDraft): Promise<Handover> => {
    const query = { orgId: draft.by.orgId, channel: 'sms' as const, ...recipientsOf(draft) }
    const suppressed = await findSuppressed(query).catch((error: unknown) => {
      throw beforeHandover(error)
    })
    if (suppressed.size > 0) throw new Failure('SUPPRESSED')
    return provider.send(smsOf(draft, clock.now()))
  }

  return {
    name: 'sms',
    gates: bySendKind(smsGates(needs)),
    recipientsOf,
    removeSuppressed: () => {
      throw new Failure('SUPPRESSED')
    },
    checksAtHandOver: ({ by }) => by.environment === 'live',
    lateGates: bySendKind([poolMemberGate(needs.smsSenders)]),
    finish: () => undefined,

    priceOf: (draft) =>
      andThen(usage.allowanceOf(draft.by.orgId, draft.by.tenantId), ({ plan }) => {
        const country = countryOf(draft.to) ?? ''
        const segments = billedSegments(draft)
        const media = draft.mediaUrl.length > 0
        return {
          units: 1,
          segments,
          costMicros: media ? mmsPrice(plan, country) : segments * segmentPrice(plan, country),
        }
      }),

    contentOf: (draft) => ({
      stream: 'transactional',
      // Never empty here: a draft that uses a pool gets its sender before its content is read.
      from_address: draft.from ?? '',
      to_addresses: [draft.to],
      text: draft.body,
      sms: smsFields(draft),
    }),

    canBeSentLater: () => true,
    acceptedFields: (draft) => ({ segments: billedSegments(draft) }),
    dueAt: localDueAt,

    handOver: (draft) => {
      if (draft.by.environment === 'test') return simulateSms(smsOf(draft, clock.now()))
      return handovers.track(draft.by.orgId, draft.to, () => handOverUnlessSuppressed(draft))
    },

    draftOf: (row: MessageRow): SmsDraft => {
      const fields = row.sms ?? { segments: 1 }
      return {
        channel: 'sms',
        id: row.id,
        createdAt: row.created_at,
        by: {
          orgId: row.org_id,
          tenantId: row.tenant_id,
          environment: row.environment,
          projectId: row.project_id,
          keyId: row.key_id,
          allowedDomainIds: null,
          boundProjectId: null,
        },
        from: row.from_address,
        fromPool: fields.from_pool ?? null,
        to: row.to_addresses[0] ?? '',
        body: row.text ?? '',
        template: null,
        mediaUrl: fields.media_url ?? [],
        dltTemplateId: fields.dlt_template_id ?? null,
        local: localOf(fields),
        dlt: null,
        messageType: 'transactional',
        tags: row.tags,
        metadata: row.metadata ?? {},
        scheduledAt: row.scheduled_at,
        jobId: row.job_id,
      }
    },
  }
}
