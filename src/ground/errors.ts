/** The closed catalogue of error codes, and the one error type that carries them. */

type Entry = { status: number; text: string }
const at = (status: number, text: string): Entry => ({ status, text })

export const catalogue = {
  // who is calling
  UNAUTHORIZED: at(401, 'Provide a valid API key as "Authorization: Bearer <key>".'),
  INSUFFICIENT_SCOPE: at(403, 'This API key lacks the scope this route needs.'),
  IP_NOT_ALLOWED: at(403, 'This API key may not be used from this address.'),
  TENANT_FORBIDDEN: at(403, 'This API key is bound to another tenant.'),
  TENANT_KEY_CANNOT_CREATE_TENANTS: at(403, 'A tenant-bound API key cannot create tenants.'),
  TENANT_KEY_CANNOT_DELETE: at(403, 'A tenant-bound API key cannot delete tenants.'),
  TENANT_KEY_FORBIDDEN: at(403, 'A tenant-bound API key cannot do this; use a platform key.'),
  TENANT_SUSPENDED: at(403, 'The tenant of this API key is suspended.'),
  TENANT_ARCHIVED: at(403, 'The tenant of this API key is archived.'),
  TENANT_NOT_FOUND: at(403, 'The tenant of this API key no longer exists.'),
  TENANT_NOT_USABLE: at(409, 'This tenant reference names a suspended or archived tenant.'),
  DOMAIN_TENANT_MISMATCH: at(403, 'The "from" domain belongs to another tenant.'),
  DOMAIN_NOT_ALLOWED_FOR_KEY: at(403, 'This API key may not send from this domain.'),
  ORG_SUSPENDED: at(403, 'This organisation is suspended. Contact the operator of this service.'),
  SMS_DESTINATION_NOT_ALLOWED: at(403, 'The destination country is not on the allowlist of this organisation.'),
  SENDER_DOMAIN_NOT_VERIFIED: at(403, 'Verify the "from" domain before sending from it.'),
  SANDBOX_RECIPIENT_NOT_ALLOWED: at(403, 'The sandbox sender reaches only verified addresses of members.'),
  SCOPE_ESCALATION: at(403, 'A key cannot grant scopes that it does not hold.'),
  DOMAIN_SCOPE_ESCALATION: at(403, 'A key cannot grant domains beyond its own.'),
  CIDR_SCOPE_ESCALATION: at(403, 'A key cannot grant addresses beyond its own.'),
  EXPIRY_ESCALATION: at(403, 'A key cannot grant a life longer than its own.'),
  RATE_LIMIT_ESCALATION: at(403, 'A key cannot grant a rate above its own.'),
  ENVIRONMENT_ESCALATION: at(403, 'A test-mode key cannot change live state.'),
  PROJECT_SCOPED_KEY: at(403, 'A key bound to one project cannot create projects.'),

  // what was asked
  VALIDATION_ERROR: at(422, 'The request is not valid; see errors.'),
  INVALID_CURSOR: at(422, 'The cursor cannot be read. Pass next_cursor back as it was given.'),
  INVALID_TENANT_REF: at(422, 'X-Service-Tenant-Ref takes 1 to 200 characters.'),
  INVALID_EXTERNAL_REF: at(422, 'external_ref takes 1 to 200 characters.'),
  IDEMPOTENCY_MISMATCH: at(409, 'This Idempotency-Key was used with a different request.'),
  IDEMPOTENCY_IN_FLIGHT: at(409, 'A request with this Idempotency-Key is still running. Retry shortly.'),
  ALL_SUPPRESSED: at(422, 'Every recipient is suppressed.'),
  TO_ALL_SUPPRESSED: at(422, 'Every "to" address is suppressed.'),
  SUPPRESSED: at(422, 'The recipient is suppressed.'),
  UNSUBSCRIBE_REQUIRES_BROADCAST: at(422, '{{unsubscribe_url}} needs the broadcast stream.'),
  UNSUBSCRIBE_MULTI_RECIPIENT: at(422, '{{unsubscribe_url}} needs exactly one recipient.'),
  NOT_SCHEDULED: at(409, 'Only a scheduled message can be canceled.'),
  SCHEDULED_AT_IN_PAST: at(422, 'scheduled_at is more than 5 minutes in the past.'),
  SCHEDULED_AT_TOO_FAR: at(422, 'scheduled_at is more than 366 days ahead.'),
  SCHEDULED_SINGLE_RECIPIENT: at(422, 'A scheduled email takes exactly one "to" address.'),
  SCHEDULED_NO_ATTACHMENTS: at(422, 'A scheduled email takes no attachments.'),
  ATTACHMENT_TOO_LARGE: at(413, 'Attachments take at most 7 MB together.'),
  PAYLOAD_TOO_LARGE: at(413, 'The request is larger than this route takes.'),
  AUDIENCE_TOO_LARGE: at(413, 'An audience send takes at most 10,000 recipients.'),
  TEMPLATE_MISSING_VARIABLES: at(422, 'The template needs variables that were not supplied.'),
  TEMPLATE_TENANT_SCOPED: at(422, 'This template exists only on tenants; name one.'),
  INVALID_FROM: at(422, '"from" needs an address with a domain.'),
  NO_SENDER: at(422, '"from" is required.'),
  UNDELIVERABLE_DESTINATION: at(422, 'This destination cannot receive a code.'),
  HIGH_COST_DESTINATION: at(422, 'Satellite and international-network numbers are not served.'),
  MMS_TOO_MANY_ATTACHMENTS: at(422, 'An MMS takes at most 10 files.'),
  MMS_INVALID_MEDIA_URI: at(422, 'media_url takes URIs of the form s3://bucket/key.'),
  DLT_TEMPLATE_REQUIRED: at(422, 'A +91 destination needs dlt_template_id.'),
  DLT_TEMPLATE_NOT_FOUND: at(422, 'No such DLT template.'),
  DLT_TEMPLATE_NOT_APPROVED: at(422, 'This DLT template is not approved.'),
  DLT_TEMPLATE_NOT_PROVISIONED: at(422, 'This DLT template has no provider ids yet.'),
  SENDER_NOT_REGISTERED: at(422, 'This sender is not registered.'),
  SENDER_NOT_VERIFIED: at(422, 'This sender is not verified yet.'),
  COUNTRY_NOT_PROVISIONABLE: at(422, 'Numbers can be provisioned in US and CA only.'),
  SENDER_ALREADY_REGISTERED: at(409, 'This sender id is registered already.'),
  BRAND_NOT_FOUND: at(422, 'No such brand.'),
  CAMPAIGN_NOT_FOUND: at(422, 'No such campaign.'),
  BRAND_NOT_VERIFIED: at(422, 'The brand is not approved yet.'),
  CAMPAIGN_NOT_VERIFIED: at(422, 'The campaign is not approved yet.'),
  BRAND_IS_TEST_MODE: at(422, 'A test-mode brand cannot back a live registration.'),
  CAMPAIGN_IS_TEST_MODE: at(422, 'A test-mode campaign cannot back a live registration.'),
  BRAND_IS_LIVE_MODE: at(422, 'A test-mode key can correct only simulated brands.'),
  BRAND_HAS_CAMPAIGNS: at(409, 'Campaigns still belong to this brand.'),
  NUMBER_ALREADY_REGISTERED: at(409, 'This number is registered already. Retry for another.'),
  NO_FIELDS: at(422, 'Name at least one field to change.'),
  WEBHOOK_URL_NOT_ALLOWED: at(422, 'This webhook URL is not allowed.'),
  SUPPRESSION_PROTECTED: at(409, 'A stop or complaint suppression cannot be removed.'),
  QUERY_BODY_CONFLICT: at(422, 'Query and body name different targets.'),
  TENANT_SLUG_CONFLICT: at(409, 'This tenant slug is in use.'),
  TENANT_EXTERNAL_REF_CONFLICT: at(409, 'This external_ref is in use.'),
  TENANT_ACTIVE: at(409, 'Suspend or archive the tenant before erasing it.'),
  TENANT_NOT_ACTIVE: at(409, 'The tenant is not active.'),
  TENANT_NOT_SUSPENDED: at(409, 'The tenant is not suspended.'),
  TENANT_NOT_ARCHIVED: at(409, 'The tenant is not archived.'),
  TENANT_ERASED: at(409, 'The tenant was erased.'),
  IP_POOL_PAUSED: at(409, 'The dedicated IP pool of this domain is paused.'),
  IP_POOL_IN_USE: at(409, 'Domains are still assigned to this IP pool.'),
  BY_KEY_NOT_AVAILABLE: at(422, 'by_key is not available to a tenant-bound key.'),
  KEY_REVOKED: at(409, 'This key is revoked and cannot be changed.'),
  SELF_REVOKE_FORBIDDEN: at(422, 'A key cannot revoke itself.'),
  DOMAIN_ALREADY_ADDED: at(409, 'This domain is in the project already.'),
  DOMAIN_RESERVED: at(422, 'This domain belongs to the service.'),
  PROJECT_NOT_EMPTY: at(409, 'Something still belongs to this project; see errors.'),
  PROJECT_IS_DEFAULT: at(409, 'The default project cannot be deleted.'),
  PROJECT_SLUG_TAKEN: at(409, 'This slug is held by another project.'),
  POOL_SLUG_TAKEN: at(409, 'This pool slug is in use.'),
  DLT_IN_USE: at(409, 'This DLT row is still used.'),
  TEMPLATE_SLUG_TAKEN: at(409, 'This template slug is in use.'),
  AUDIENCE_SLUG_TAKEN: at(409, 'This audience slug is in use.'),
  WARMUP_ALREADY_ACTIVE: at(409, 'Warmup of this domain is under way already.'),
  ENDPOINT_DISABLED: at(409, 'This webhook endpoint is disabled. Enable it first.'),
  UNAVAILABLE: at(503, 'This could not be recorded just now. Retry; a held code still works.'),
  SEND_FAILED: at(502, 'The provider refused the code.'),
  METHOD_NOT_ALLOWED: at(405, 'This path does not take this method.'),
  UNSUPPORTED_MEDIA_TYPE: at(415, 'Send the body as application/json.'),
  INVALID_IDEMPOTENCY_KEY: at(400, 'An idempotency key takes 1 to 255 printable characters.'),

  // how much
  RATE_LIMITED: at(429, 'Too many requests. Wait for Retry-After seconds.'),
  KEY_CREATION_RATE_LIMITED: at(429, 'At most 10 keys can be created per hour.'),
  USAGE_LIMIT_EXCEEDED: at(429, 'The monthly quota of the plan is used up.'),
  TENANT_QUOTA_EXCEEDED: at(429, 'The monthly quota of the tenant is used up.'),
  TEST_DAILY_LIMIT: at(429, 'The daily test-mode allowance is used up.'),
  WARMUP_LIMIT_EXCEEDED: at(429, 'The domain is in warmup and reached its cap of today.'),
  SANDBOX_DAILY_LIMIT: at(429, 'The sandbox sender reached its 100 recipients of today.'),
  REPLAY_RATE_LIMITED: at(429, 'At most 10 replays a minute per endpoint.'),
  TEST_FIRE_RATE_LIMITED: at(429, 'At most 20 test fires a minute per endpoint.'),
  PROVISION_LIMIT_EXCEEDED: at(429, 'At most 10 registrations an hour.'),
  SPEND_CAP_EXCEEDED: at(402, 'This send would pass the spend cap of the organisation.'),
  PLAN_RESOURCE_LIMIT: at(402, 'The plan allows no more of this resource.'),
  DEDICATED_IP_LIMIT_EXCEEDED: at(402, 'The plan allows no more dedicated IPs.'),

  // what is not there, and what went wrong
  NOT_FOUND: at(404, 'Not found.'),
  INTERNAL_ERROR: at(500, 'Something went wrong on our side. Quote the request_id when you report it.'),
  UNKNOWN: at(500, 'The answer could not be read.'),
  AUDIENCE_SEND_INCOMPLETE: at(500, 'The audience send stopped part way; see job_id.'),
  PROVIDER_UNAVAILABLE: at(502, 'The provider is unavailable.'),
  PROVIDER_EMPTY: at(502, 'The provider answered with nothing usable.'),
  PROVIDER_ERROR: at(502, 'The provider refused.'),
  MCP_UPSTREAM_TIMEOUT: at(504, 'No answer in time; it may have happened. Retry with the same idempotency key.'),
} as const satisfies Record<string, Entry>

export type Code = keyof typeof catalogue

/** Codes that only ever stand on one item of a batch answer, never on a response of their own. */
export const itemOnlyCodes = ['MESSAGE_NOT_RECORDED'] as const

export type ErrorType =
  | 'authentication_error'
  | 'validation_error'
  | 'rate_limit_error'
  | 'not_found_error'
  | 'server_error'

/** The codes whose type is not the one their status suggests. */
const typeExceptions: Partial<Record<Code, ErrorType>> = {
  TENANT_NOT_USABLE: 'authentication_error',
  IDEMPOTENCY_IN_FLIGHT: 'rate_limit_error',
  SEND_FAILED: 'validation_error',
  UNAVAILABLE: 'validation_error',
}

const typeOfStatus = (status: number): ErrorType => {
  if (status === 401 || status === 403) return 'authentication_error'
  if (status === 402 || status === 429) return 'rate_limit_error'
  if (status === 404) return 'not_found_error'
  return status < 500 ? 'validation_error' : 'server_error'
}

export const statusOf = (code: Code): number => catalogue[code].status
export const typeOf = (code: Code): ErrorType => typeExceptions[code] ?? typeOfStatus(statusOf(code))

/** One row of `errors[]`. */
export type FieldError = { path: (string | number)[]; code: string; message: string }

export type FailureDetail = {
  /** Replaces the catalogue's sentence. Never holds a secret or an internal. */
  message?: string
  errors?: FieldError[]
  /** Whole seconds, for `Retry-After`. */
  retryAfter?: number
  /** Further members of the error object, such as message_id. */
  extra?: Record<string, string>
  headers?: Record<string, string>
  /** The effect took place: the Idempotency-Key stays locked instead of letting a repeat have it twice. */
  done?: true
  /** Logged, never replied. */
  cause?: unknown
}

/** A refusal a caller can cause and branch on. Everything else that is thrown answers INTERNAL_ERROR. */
export class Failure extends Error {
  readonly code: Code
  readonly detail: FailureDetail

  constructor(code: Code, detail: FailureDetail = {}) {
    super(detail.message ?? catalogue[code].text, { cause: detail.cause })
    this.name = 'Failure'
    this.code = code
    this.detail = detail
  }

  get status(): number {
    return statusOf(this.code)
  }
}

export const invalid = (path: (string | number)[], code: string, message: string): Failure =>
  new Failure('VALIDATION_ERROR', { errors: [{ path, code, message }] })

export const malformed = (message: string, path: FieldError['path'] = []): Failure => invalid(path, 'custom', message)

/** Every 429 says when to come back, but for the one whose day is simply spent. */
export const retryAfterOf = ({ code, status, detail }: Failure): number | undefined => {
  if (code === 'SANDBOX_DAILY_LIMIT') return undefined
  const seconds = detail.retryAfter ?? (status === 429 ? 60 : undefined)
  return seconds === undefined ? undefined : Math.max(1, Math.ceil(seconds))
}

/** The reference page, made from the catalogue so that it cannot drift. */
export const errorsPage = (): string =>
  [
    '# Errors',
    '',
    'Generated by `npm run docs` from `src/ground/errors.ts`; a check holds the two together.',
    '',
    'Every error under `/api/v1` has the body',
    '',
    '```json',
    '{ "error": { "type": "validation_error", "message": "…", "code": "VALIDATION_ERROR",',
    '             "request_id": "req_…", "errors": [{ "path": ["limit"], "code": "too_big", "message": "…" }] } }',
    '```',
    '',
    'Branch on `code` and the HTTP status. `type` groups codes for people and does not follow from the status',
    'one to one; `message` is for people and may change. `errors` stands on schema failures and on the few codes',
    'that say so. `request_id` is also in the header `X-Request-Id`: quote it when you report a problem.',
    '',
    'On 429 wait `Retry-After` seconds (or until `X-RateLimit-Reset`, Unix milliseconds), or back off',
    'exponentially with jitter. `SANDBOX_DAILY_LIMIT` alone carries no `Retry-After`: its allowance returns at',
    '00:00 UTC.',
    '',
    '| code | HTTP | type | meaning |',
    '|---|---|---|---|',
    ...(Object.keys(catalogue) as Code[])
      .sort()
      .map((code) =>
        `| `.concat(
          '`',
          code,
          '` | ',
          String(statusOf(code)),
          ' | `',
          typeOf(code),
          '` | ',
          catalogue[code].text,
          ' |',
        ),
      ),
    '',
    'Codes that stand only on one item of a batch answer: ' +
      itemOnlyCodes.map((code) => `\`${code}\``).join(', ') +
      '.',
    '',
  ].join('\n')
