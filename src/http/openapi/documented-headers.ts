/** Headers that many operations share, as components. */
import type { HeaderObject, Parameter } from './document.ts'
import type { JsonSchema } from './shapes.ts'

export const text = (extra: JsonSchema = {}): JsonSchema => ({ type: 'string', ...extra })
const whole = (extra: JsonSchema = {}): JsonSchema => ({ type: 'integer', minimum: 0, ...extra })

export const rateHeaders: Record<string, HeaderObject> = {
  'X-RateLimit-Limit': { description: 'Requests the bucket allows in 60 seconds.', schema: whole() },
  'X-RateLimit-Remaining': { description: 'Requests left in it.', schema: whole() },
  'X-RateLimit-Reset': {
    description: 'When the oldest counted request leaves the bucket, in milliseconds since 1970.',
    schema: whole(),
  },
  'X-RateLimit-Plan': { description: 'The plan that sets the limit of the organisation.', schema: text() },
  'X-RateLimit-Scope': {
    description: 'Whose bucket the other headers describe.',
    schema: text({ enum: ['key', 'org'] }),
  },
}

export const headers: Record<string, HeaderObject> = {
  'X-Request-Id': {
    description: 'Names this request; quote it when you report a problem.',
    schema: text({ pattern: '^req_[0-7][0-9a-hjkmnp-tv-z]{25}$' }),
  },
  ...rateHeaders,
  'Retry-After': { description: 'Seconds to wait before the next try.', schema: whole({ minimum: 1 }) },
  'Idempotent-Replayed': {
    description: 'Present when this is the recorded answer to an earlier request with the same key.',
    schema: text({ const: 'true' }),
  },
}

export const parameters: Record<string, Parameter> = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'Makes a retry safe: one effect per key, however often it is sent.',
    schema: text({ minLength: 1, maxLength: 255, pattern: '^[ -~]+$' }),
  },
  'X-Service-Tenant-Ref': {
    name: 'X-Service-Tenant-Ref',
    in: 'header',
    required: false,
    description: 'Your own name for the tenant to act as; made at first use. Not for keys bound to a tenant.',
    schema: text({ minLength: 1, maxLength: 200 }),
  },
}
