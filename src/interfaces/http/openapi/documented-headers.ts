/** Headers that many operations share, described once as components. */
import type { HeaderObject, Parameter } from './document.ts'
import type { JsonSchema } from './shapes.ts'

const text = (extra: JsonSchema = {}): JsonSchema => ({ type: 'string', ...extra })
const whole = (extra: JsonSchema = {}): JsonSchema => ({ type: 'integer', minimum: 0, ...extra })

export const rateHeaders: Record<string, HeaderObject> = {
  'X-RateLimit-Limit': {
    description: 'The number of requests allowed in a sliding window of 60 seconds.',
    schema: whole(),
  },
  'X-RateLimit-Remaining': {
    description: 'The number of requests left in the current window.',
    schema: whole(),
  },
  'X-RateLimit-Reset': {
    description: 'When the oldest counted request leaves the window, as Unix time in milliseconds.',
    schema: whole(),
  },
  'X-RateLimit-Plan': {
    description: "The plan that determines your organisation's limit.",
    schema: text(),
  },
  'X-RateLimit-Scope': {
    description: 'Whether the other rate limit headers describe the limit of the API key or of the organisation.',
    schema: text({ enum: ['key', 'org'] }),
  },
}

export const headers: Record<string, HeaderObject> = {
  'X-Request-Id': {
    description: 'A unique identifier for the request. Include it when you report a problem.',
    schema: text({ pattern: '^req_[0-7][0-9a-hjkmnp-tv-z]{25}$' }),
  },
  ...rateHeaders,
  'Retry-After': {
    description: 'The number of seconds to wait before retrying.',
    schema: whole({ minimum: 1 }),
  },
  'Idempotent-Replayed': {
    description: 'Present when the response was recorded for an earlier request with the same idempotency key.',
    schema: text({ const: 'true' }),
  },
}

export const parameters: Record<string, Parameter> = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'A unique value that you generate for the request, such as a UUID. Retrying with the same key performs the request only once.',
    schema: text({ minLength: 1, maxLength: 255, pattern: '^[ -~]+$' }),
  },
  'X-Service-Tenant-Ref': {
    name: 'X-Service-Tenant-Ref',
    in: 'header',
    required: false,
    description:
      'Your own identifier for the tenant to act on behalf of. The tenant is created on first use. Tenant-bound API keys cannot use this header.',
    schema: text({ minLength: 1, maxLength: 200 }),
  },
}
