/** Appends the events and the audit entries of senders, in the transaction of the change. */
import type { Action } from '../../../journal/audit/actions.ts'
import type { Actor, Audit } from '../../../journal/audit/append.ts'
import type { AppendEvents } from '../../../journal/events/append-events.ts'
import type { EventName } from '../../../journal/events/names.ts'
import type { Tx } from '../../../platform/db/pool.ts'
import type { BrandRow } from '../store/brand-rows.ts'
import type { CampaignRow } from '../store/campaign-rows.ts'
import type { PhoneNumberRow } from '../store/phone-number-rows.ts'
import type { RegistrationRow } from '../store/registration-rows.ts'

/** What events and audit entries say about a brand, a campaign or a number. */
export type Subject = {
  type: 'brand' | 'campaign' | 'phone_number'
  orgId: string
  tenantId: string | null
  id: string
  providerStatus: string | null
  reason: string | null
  /** The fields that only this type has. */
  about: Record<string, unknown>
}

const common = (row: RegistrationRow) => ({
  orgId: row.org_id,
  tenantId: null,
  id: row.id,
  providerStatus: row.provider_status,
  reason: row.status_reason,
})

export const brandSubject = (row: BrandRow): Subject => ({
  ...common(row),
  type: 'brand',
  about: { display_name: row.fields.display_name },
})

export const campaignSubject = (row: CampaignRow): Subject => ({
  ...common(row),
  type: 'campaign',
  about: { brand_id: row.brand_id, name: row.fields.name, kind: row.kind, use_case: row.fields.use_case },
})

export const numberSubject = (row: PhoneNumberRow): Subject => ({
  ...common(row),
  type: 'phone_number',
  tenantId: row.tenant_id,
  about: {
    kind: row.kind,
    e164: row.e164,
    sender_id: row.sender_id,
    iso_country: row.iso_country,
    campaign_id: row.campaign_id,
  },
})

type Announcement = 'verified' | 'unverified' | 'removed' | 'released'

export const makeAnnounce = ({ audit, appendEvents }: { audit: Audit; appendEvents: AppendEvents }) => {
  const entryOf = (actor: Actor, action: Action, subject: Subject, metadata: Record<string, unknown> = {}) => ({
    orgId: subject.orgId,
    actor,
    action,
    resourceType: subject.type,
    resourceId: subject.id,
    metadata: { ...subject.about, ...metadata },
  })
  return {
    /** A change that endpoints subscribe to. */
    change: async (tx: Tx, actor: Actor, what: Announcement, ...subjects: Subject[]) => {
      const events = subjects.map((subject) => ({
        orgId: subject.orgId,
        tenantId: subject.tenantId,
        environment: null,
        event: `${subject.type}.${what}` as EventName,
        data: {
          id: subject.id,
          status: what,
          ...subject.about,
          provider_status: subject.providerStatus,
          reason: subject.reason,
        },
      }))
      await appendEvents(tx, ...events)
      const entries = subjects.map((subject) => {
        const { providerStatus: provider_status, reason } = subject
        return entryOf(actor, `${subject.type}.${what}` as Action, subject, { provider_status, reason })
      })
      await audit(tx, ...entries)
    },
    /** A change that only the audit log records. */
    record: (tx: Tx, ...entry: Parameters<typeof entryOf>) => audit(tx, entryOf(...entry)),
  }
}

export type Announce = ReturnType<typeof makeAnnounce>
