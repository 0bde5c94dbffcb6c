import { z } from 'zod'
import { givenId } from '../../platform/ground/bounded-text.ts'
import { formatRange, parseRange } from '../../platform/ground/ip-address.ts'
import { scopes } from './scopes.ts'

/** Longer than any range, with spaces around it. */
const maxCidrLength = 100

const cidr = z
  .string()
  .max(maxCidrLength)
  .transform((text, context) => {
    const range = parseRange(text.trim())
    if (!range) {
      context.addIssue({
        code: 'custom',
        message: 'Must be an IPv4 or IPv6 address, or a range in CIDR notation such as 192.0.2.0/24.',
      })
    }
    return range ? formatRange(range) : ''
  })

const name = z.string().trim().min(1).max(100).describe('A name for people, 1 to 100 characters.')
const scopeList = z
  .array(z.enum(scopes))
  .min(1)
  .max(scopes.length)
  .transform((list) => [...new Set(list)])
// An empty list is rejected, because it could mean either "no domain" or "any domain".
const domainIds = z.array(givenId).min(1).max(100)
const cidrs = z
  .array(cidr)
  .min(1)
  .max(50)
  .transform((list) => [...new Set(list)])
const days = z.int().min(1).max(3650)
const rate = z.int().min(1).max(6000)

const restrictions = {
  allowed_domain_ids: domainIds
    .nullish()
    .describe('The ids of the only domains that the key can send from, 1 to 100. `null` allows every domain.'),
  allowed_cidrs: cidrs
    .nullish()
    .describe(
      'The only IP addresses that can use the key: 1 to 50 addresses or ranges in CIDR notation, IPv4 or IPv6. `null` allows every address.',
    ),
  expires_in_days: days
    .nullish()
    .describe(
      'Days until the key expires, 1 to 3,650, from the time of this request. `null` for a key without expiry.',
    ),
  rate_limit_per_minute: rate
    .nullish()
    .describe(
      'Requests per minute for this key, 1 to 6,000, in addition to the limit of your organisation. `null` for no separate limit.',
    ),
}

/** Rejects unknown fields, so that a misspelled restriction is never silently ignored. */
export const CreateKey = z
  .strictObject({
    name: name.default('API key'),
    scopes: scopeList.optional().describe('What the key is allowed to do. Defaults to all scopes.'),
    environment: z
      .enum(['live', 'test'])
      .optional()
      .describe(
        '`live` keys send real messages; messages of `test` keys are never delivered. Defaults to the environment of the key that makes the request.',
      ),
    tenant_id: givenId
      .nullish()
      .describe('The tenant that the key is bound to. Defaults to the tenant of the request, if it acts for one.'),
    project_id: givenId
      .nullish()
      .describe(
        'The project that the key is bound to. Defaults to the project of the key that makes the request. `null` allows the domains of every project.',
      ),
    ...restrictions,
  })
  .meta({
    id: 'CreateKey',
    examples: [
      {
        name: 'CI',
        environment: 'test',
        scopes: ['send:email', 'read:messages'],
        allowed_cidrs: ['203.0.113.0/24'],
        expires_in_days: 90,
        rate_limit_per_minute: 120,
      },
    ],
  })
export type CreateKey = z.output<typeof CreateKey>

/** An omitted field keeps its value. An explicit null removes the restriction. */
export const PatchKey = z
  .strictObject({
    name: name.optional(),
    scopes: scopeList.optional().describe('What the key is allowed to do. The list replaces the current scopes.'),
    tenant_id: givenId
      .nullish()
      .describe('The tenant that the key is bound to. `null` makes it a key of the whole organisation.'),
    ...restrictions,
  })
  .meta({ id: 'PatchKey', examples: [{ name: 'CI, main branch', rate_limit_per_minute: null }] })
export type PatchKey = z.output<typeof PatchKey>

const at = z.iso.datetime()

const named = { id: 'key_01k5w3v8q6e9rbx2t7m4n0c1yz', name: 'CI', environment: 'test' }
const example = {
  prefix: 'svc_test_4eC3',
  last_four: 'p7dc',
  scopes: ['send:email', 'read:messages'],
  tenant_id: null,
  project_id: null,
  allowed_domain_ids: null,
  allowed_cidrs: ['203.0.113.0/24'],
  rate_limit_per_minute: 120,
  expires_at: '2026-04-15T12:00:00.000Z',
  last_used_at: null,
  created_at: '2026-01-15T12:00:00.000Z',
  revoked_at: null,
}

export const Key = z
  .strictObject({
    id: z.string().describe('The id of the key, such as `key_…`. It is not the key itself.'),
    name: z.string().describe('The name of the key.'),
    environment: z.enum(['live', 'test']).describe('The environment of the key. It never changes.'),
    prefix: z.string().describe('The first 13 characters of the key.'),
    last_four: z.string().describe('The last four characters of the key.'),
    scopes: z.array(z.enum(scopes)).describe('What the key is allowed to do.'),
    tenant_id: z.string().nullable().describe('The tenant that the key is bound to, or `null`.'),
    project_id: z.string().nullable().describe('The project that the key is bound to, or `null`.'),
    allowed_domain_ids: z
      .array(z.string())
      .nullable()
      .describe('The only domains that the key can send from. `null` if it can use every domain.'),
    allowed_cidrs: z
      .array(z.string())
      .nullable()
      .describe('The only IP ranges that can use the key. `null` if every address can.'),
    rate_limit_per_minute: z
      .int()
      .nullable()
      .describe('Requests per minute for this key. `null` if only the limit of your organisation applies.'),
    expires_at: at.nullable().describe('When the key stops working. `null` if it does not expire.'),
    last_used_at: at
      .nullable()
      .describe('When the key was last used, or `null` if never. Updated at most once per minute.'),
    created_at: at.describe('When the key was created.'),
    revoked_at: at.nullable().describe('When the key was revoked, or `null`.'),
  })
  .meta({ id: 'Key', examples: [{ ...named, ...example }] })

export const CreatedKey = z
  .strictObject({
    ...Key.pick({ id: true, name: true, environment: true }).shape,
    key: z.string().describe('The API key itself. Store it now: it is not shown again.'),
  })
  .extend(Key.omit({ id: true, name: true, environment: true }).shape)
  .meta({
    id: 'CreatedKey',
    // Too short to be a key, so that scanners for secrets ignore it.
    examples: [{ ...named, key: 'svc_test_4eC3…p7dc', ...example }],
  })

export const RevokedKey = z
  .strictObject({
    id: z.string().describe('The id of the key.'),
    revoked_at: at.describe('When the key was revoked for the first time.'),
  })
  .meta({
    id: 'RevokedKey',
    examples: [{ id: 'key_01k5w3v8q6e9rbx2t7m4n0c1yz', revoked_at: '2026-01-15T12:00:00.000Z' }],
  })
