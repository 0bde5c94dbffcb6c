/** The scopes, grouped for the form. The type makes the compiler name one that is missing. */
import type { components } from '../api/schema.gen.ts'

export type Scope = NonNullable<components['schemas']['PatchKey']['scopes']>[number]

const groupOf: Record<Scope, string> = {
  'send:email': 'Sending',
  'send:sms': 'Sending',
  'write:verifications': 'Sending',
  'read:messages': 'Messages',
  'read:inbound': 'Messages',
  'read:analytics': 'Messages',
  'read:usage': 'Messages',
  'read:suppressions': 'Recipients',
  'write:suppressions': 'Recipients',
  'read:audiences': 'Recipients',
  'write:audiences': 'Recipients',
  'read:contacts': 'Recipients',
  'write:contacts': 'Recipients',
  'read:templates': 'Content',
  'write:templates': 'Content',
  'read:domains': 'Senders',
  'write:domains': 'Senders',
  'read:brands': 'Senders',
  'write:brands': 'Senders',
  'read:campaigns': 'Senders',
  'write:campaigns': 'Senders',
  'read:phone_numbers': 'Senders',
  'write:phone_numbers': 'Senders',
  'read:pools': 'Senders',
  'write:pools': 'Senders',
  'read:dlt': 'Senders',
  'write:dlt': 'Senders',
  'read:ip_pools': 'Senders',
  'write:ip_pools': 'Senders',
  'read:webhooks': 'Administration',
  'write:webhooks': 'Administration',
  'read:projects': 'Administration',
  'write:projects': 'Administration',
  'read:tenants': 'Administration',
  'write:tenants': 'Administration',
  'read:keys': 'Administration',
  'write:keys': 'Administration',
}

export const allScopes = Object.keys(groupOf) as Scope[]

export const sendingScopes = allScopes.filter((scope) => groupOf[scope] === 'Sending')

export const scopeGroups: readonly (readonly [string, readonly Scope[]])[] = [...new Set(Object.values(groupOf))].map(
  (group) => [group, allScopes.filter((scope) => groupOf[scope] === group)],
)

export const isFullAccess = (scopes: readonly string[]): boolean => allScopes.every((scope) => scopes.includes(scope))
