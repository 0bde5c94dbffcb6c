/** Which scopes a person can grant to a client, and what each of them means on the consent page. */
import { type Role, roles } from '../../customers/accounts/sessions.ts'
import { type ScopeName, scopes } from '../../customers/keys/scopes.ts'

/** No consent grants these, not even an owner's. */
const ownerOnly: ReadonlySet<ScopeName> = new Set([
  'read:keys',
  'write:keys',
  'write:tenants',
  'write:projects',
  'write:ip_pools',
  'write:dlt',
])

export const grantableScopes: readonly ScopeName[] = scopes.filter((scope) => !ownerOnly.has(scope))

export const isGrantable = (scope: ScopeName): boolean => !ownerOnly.has(scope)

/** Whether a member in this role can grant the scope, and whether a token still has it. An unknown role allows nothing. */
export const roleAllows = (role: string, scope: ScopeName): boolean => {
  if (!isGrantable(scope)) return false
  switch (roles.find((known): known is Role => known === role)) {
    case 'owner':
    case 'developer':
      return true
    case 'member':
    case 'viewer':
      return scope.startsWith('read:')
    case undefined:
      return false
  }
}

export const scopeSentences: Record<ScopeName, string> = {
  'send:email': 'Send email from your verified domains',
  'send:sms': 'Send text messages from your numbers and sender ids',
  'read:messages': 'Read emails and text messages and what became of them',
  'write:verifications': 'Send one-time codes and check them',
  'read:audiences': 'Read audiences, their members and sends to them',
  'write:audiences': 'Create, change and delete audiences, and send to them',
  'read:contacts': 'Read contacts',
  'write:contacts': 'Create, change and delete contacts',
  'read:templates': 'Read templates',
  'write:templates': 'Create, change and delete templates',
  'read:inbound': 'Read messages that you received',
  'read:analytics': 'Read figures about your messages',
  'read:usage': 'Read usage, quotas and spend',
  'read:suppressions': 'Read the addresses and numbers that must not be written to',
  'write:suppressions': 'Add and remove suppressed addresses and numbers',
  'read:domains': 'Read sending domains and their DNS records',
  'write:domains': 'Add, check, change and delete sending domains',
  'read:webhooks': 'Read webhook endpoints and their deliveries',
  'write:webhooks': 'Create, change and delete webhook endpoints, and replay deliveries',
  'read:brands': 'Read brands for text messages',
  'write:brands': 'Register, change and delete brands for text messages',
  'read:campaigns': 'Read campaigns for text messages',
  'write:campaigns': 'Register, change and delete campaigns for text messages',
  'read:phone_numbers': 'Read phone numbers',
  'write:phone_numbers': 'Order, change and release phone numbers',
  'read:pools': 'Read pools of senders',
  'write:pools': 'Create, change and delete pools of senders',
  'read:dlt': 'Read DLT registrations',
  'write:dlt': 'Change DLT registrations',
  'read:ip_pools': 'Read IP pools',
  'write:ip_pools': 'Change IP pools',
  'read:projects': 'Read projects',
  'write:projects': 'Change projects',
  'read:tenants': 'Read tenants',
  'write:tenants': 'Change tenants',
  'read:keys': 'Read API keys',
  'write:keys': 'Change API keys',
}

const known = new Map<string, ScopeName>(scopes.map((scope) => [scope, scope]))

/**
 * The grantable scopes in a space-separated list, each once and in the order of the catalogue. Others are left out:
 * a server may grant less than it was asked for.
 */
export const readScopes = (text: string): ScopeName[] => {
  const asked = new Set(text.split(/ +/).map((name) => known.get(name)))
  return grantableScopes.filter((scope) => asked.has(scope))
}
