/** The layers on which the routes, the servers and the worker build. */
import type { Health } from '../../reports/health/watch-parts.ts'
import type { BillingModule } from './billing.ts'
import type { WebhookDelivery } from './delivery.ts'
import type { Exports } from './exports.ts'
import type { Foundation } from './foundation.ts'
import type { OAuth } from './oauth.ts'
import type { People } from './people.ts'
import type { Platform } from './platform.ts'
import type { SmsRegistration } from './registration.ts'
import type { Replacements } from './replacements.ts'
import type { Resources } from './resources.ts'
import type { Scim } from './scim.ts'
import type { Sending } from './sending.ts'
import type { Sso } from './sso.ts'
import type { Team } from './team.ts'

export type ServiceParts = {
  foundation: Foundation
  platform: Platform
  sending: Sending
  delivery: WebhookDelivery
  senders: SmsRegistration
  resources: Resources
  people: People
  team: Team
  billing: BillingModule
  exports: Exports
  health: Health
  oauth: OAuth
  sso: Sso
  scim: Scim
  replacements: Replacements
}
