/** Parts of the service that tests and benchmarks replace. */
import type { hashPassword } from '../../customers/accounts/passwords.ts'
import type { VerifiedFor } from '../../people/scim/directory-accounts.ts'
import type { EndMemberWork } from '../../people/team/manage-team.ts'
import type { GuardedAgent } from '../../platform/outgoing/guarded.ts'
import type { SnsIntakeNeeds } from '../../providers/email/sns-intake.ts'
import type { ObjectStore } from '../../providers/objects/object-store.ts'
import type { SmsRegistries } from '../../providers/registry/open-sms-registry.ts'
import type { SmsProvider } from '../../providers/sms/sms-provider.ts'
import type { newDkimKey } from '../../senders/domains/dkim-key.ts'
import type { NotifyOwners } from '../../webhooks/record-outcome.ts'

export type Replacements = {
  /** Checks every response against the schema of its route. */
  checkResponses?: boolean
  /** Makes DKIM keys. Tests share one key, because making one is slow. */
  newDkimKey?: typeof newDkimKey
  /** Hashes new passwords. Tests use a cheaper hash, because the real one is slow on purpose. */
  hashPassword?: typeof hashPassword
  /** Fetches the certificates of Amazon SNS and confirms its subscriptions. */
  sns?: Pick<SnsIntakeNeeds, 'fetchCertificate' | 'confirm'>
  /** Sends live text messages. */
  smsProvider?: SmsProvider
  /** Makes outgoing HTTP requests. */
  agent?: GuardedAgent
  /** Registries of SMS senders. */
  registries?: SmsRegistries
  /** The time that the ceilings on one-time codes cover, instead of an hour. */
  verificationWindowMs?: number
  /** Where the built dashboard is. From its sources, the service serves none. */
  webFolder?: string
  /** Keeps the files of exports. */
  exportStore?: ObjectStore
  /** Emails owners and developers. */
  notify?: NotifyOwners
  /** Says whether an address is in a verified email domain of an org. */
  isVerifiedFor?: VerifiedFor
  /** Ends what a member has in an org when they leave it. */
  endMemberWork?: EndMemberWork[]
}
