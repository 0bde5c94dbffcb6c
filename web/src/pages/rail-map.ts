/** The entries of the rail, in order. An entry appears as soon as a page names it. */

type Entry = { label: string; keys?: string; children?: Record<string, { label: string; keys?: string }> }

export const railMap = {
  overview: { label: 'Overview', keys: 'o' },
  messages: { label: 'Messages', keys: 'm' },
  templates: { label: 'Templates', keys: 't' },
  audiences: { label: 'Audiences', keys: 'a' },
  analytics: { label: 'Analytics', keys: 'y' },
  senders: {
    label: 'Senders',
    children: {
      domains: { label: 'Domains', keys: 'd' },
      numbers: { label: 'Numbers and sender ids', keys: 'n' },
      brands: { label: 'Brands and campaigns' },
      dlt: { label: 'India DLT' },
      pools: { label: 'Pools' },
      ips: { label: 'Dedicated IPs' },
    },
  },
  suppressions: { label: 'Suppressions', keys: 'x' },
  developers: {
    label: 'Developers',
    children: {
      keys: { label: 'API keys', keys: 'k' },
      webhooks: { label: 'Webhooks', keys: 'w' },
      events: { label: 'Events' },
      reference: { label: 'API reference' },
      outbox: { label: 'Outbox', keys: 'b' },
    },
  },
  tenants: { label: 'Tenants', keys: 'e' },
  projects: { label: 'Projects', keys: 'p' },
  settings: {
    label: 'Settings',
    children: {
      organisation: { label: 'Organisation', keys: 's' },
      team: { label: 'Team' },
      billing: { label: 'Usage and billing', keys: 'u' },
      security: { label: 'Security' },
      sso: { label: 'Single sign-on' },
      scim: { label: 'SCIM' },
      grants: { label: 'OAuth grants' },
      audit: { label: 'Audit log', keys: 'l' },
      countries: { label: 'SMS countries' },
      exports: { label: 'Exports' },
      status: { label: 'Service status' },
    },
  },
  personal: {
    label: 'Your account',
    children: {
      profile: { label: 'Profile' },
      password: { label: 'Password and two-factor' },
      sessions: { label: 'Sessions' },
      data: { label: 'Data export' },
      deletion: { label: 'Delete account' },
    },
  },
} as const satisfies Record<string, Entry>

type Map = typeof railMap
type ChildOf<E> = E extends { children: infer C } ? keyof C & string : never

export type RailGroup = keyof Map
export type RailId = RailGroup | { [K in RailGroup]: ChildOf<Map[K]> }[RailGroup]

export type RailEntry = { id: RailId; label: string; keys?: string; children: RailEntry[] }

export const railEntries = (): RailEntry[] =>
  (Object.entries(railMap) as [RailId, Entry][]).map(([id, { label, keys, children = {} }]) => ({
    id,
    label,
    ...(keys && { keys }),
    children: Object.entries(children).map(([child, entry]) => ({ id: child as RailId, ...entry, children: [] })),
  }))
