import { statement } from '../../db/statement.ts'

export const insertAlphanumeric = statement<{
  orgId: string
  id: string
  senderId: string
  isoCountry: string
  at: Date
}>(
  'senders.insert_alphanumeric',
  `insert into phone_numbers (org_id, id, environment, kind, sender_id, iso_country, status, created_at, updated_at)
   values (:orgId, :id, 'live', 'alphanumeric', :senderId, :isoCountry, 'verified', :at, :at)`,
)
