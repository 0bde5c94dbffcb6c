/** Every error code the API returns, and the `Failure` error that carries one. The list is closed. */

type Entry = { status: number; text: string }
const at = (status: number, text: string): Entry => ({ status, text })

/** Codes that appear only under /api/internal and /api/auth. */
const dashboardOnly = {
  OWNER_ROLE_REQUIRED: at(403, 'Owner role required'),
  DEVELOPER_ROLE_REQUIRED: at(403, 'Developer or owner role required'),
  WRITE_ACCESS_REQUIRED: at(403, 'Write access required'),
  CROSS_SITE_REFUSED: at(403, 'Cross-site request refused'),
  INVALID_CODE: at(400, 'Invalid or expired code'),
  INVALID_TOKEN: at(400, 'This link is invalid or has expired'),
  CONFIRMATION_FAILED: at(403, 'The password is wrong'),
  UNLOCK_REQUIRED: at(
    429,
    'Too many wrong passwords for this address. If it has an account, a link was mailed to it that lets you sign in. A browser that you have signed in with before still works.',
  ),
  TWO_FACTOR_ENABLED: at(409, 'Two-factor authentication is already enabled'),
  TWO_FACTOR_NOT_ENABLED: at(409, 'Two-factor authentication is not enabled'),
  MAIL_UNAVAILABLE: at(503, 'The mail could not be sent. Try again in a few minutes.'),
  TEXT_UNAVAILABLE: at(503, 'The text message could not be sent. Try again in a few minutes.'),
  NOT_PRIMARY_OWNER: at(403, 'Only the primary owner can transfer ownership'),
  PRIMARY_OWNER: at(409, 'The primary owner cannot be demoted or removed'),
  SELF_REMOVE: at(409, 'You cannot remove yourself'),
  ALREADY_MEMBER: at(409, 'Already a member'),
  INVITATION_EXPIRED: at(410, 'This invitation has expired'),
  INVITATION_EMAIL_MISMATCH: at(403, 'This invitation was sent to another address'),
  SOLE_OWNER: at(409, 'You are the only member of an organisation you own'),
  SCIM_TOKEN_LIMIT: at(409, 'The organisation has two live directory tokens. Revoke one first.'),
  OWNER_NOT_MAPPABLE: at(422, 'A directory group cannot grant the owner role'),
  DOMAIN_NOT_VERIFIED: at(409, 'The domain is not verified. Verify it first.'),
  PLAN_NOT_HIGHER: at(409, 'Your organisation already has this plan or a higher one'),
  EXPORT_NOT_READY: at(409, 'Export is not ready'),
  EXPORT_EXPIRED: at(410, 'The file of this export was deleted. Start another export.'),
  EXPORT_UNAVAILABLE: at(503, 'The file of this export cannot be read at the moment. Try again in a few minutes.'),
  RANGE_NOT_SATISFIABLE: at(416, 'The requested range is outside the file'),
  SSO_REQUIRED: at(403, 'Your organisation requires single sign-on'),
  SSO_NOT_TESTED: at(409, 'Sign in once through this configuration before you enforce it'),
  SSO_NO_DOMAIN: at(409, 'Verify an email domain before you enforce single sign-on'),
  INVALID_TIME_RANGE: at(422, 'The bounds of a range must be ISO 8601 timestamps'),
  AUDIT_SIGNING_DISABLED: at(
    503,
    'Audit signing is not configured, so the log cannot be verified. This does not mean the log is clean.',
  ),
  SCOPE_NOT_GRANTABLE: at(422, 'Scope cannot be granted'),
} satisfies Record<string, Entry>

export const catalogue = {
  // Authentication and permissions
  UNAUTHORIZED: at(
    401,
    'The API key is missing or invalid. Send a valid key in the Authorization header: "Authorization: Bearer <key>".',
  ),
  INSUFFICIENT_SCOPE: at(
    403,
    'This API key does not have the scope that this request requires. Use a key that has it.',
  ),
  IP_NOT_ALLOWED: at(
    403,
    'This API key cannot be used from your IP address. Add the address to allowed_cidrs of the key.',
  ),
  TENANT_FORBIDDEN: at(403, 'This API key is bound to another tenant. Use a key of that tenant or a platform key.'),
  TENANT_KEY_CANNOT_CREATE_TENANTS: at(403, 'A tenant-bound API key cannot create tenants. Use a platform key.'),
  TENANT_KEY_CANNOT_DELETE: at(403, 'A tenant-bound API key cannot delete tenants. Use a platform key.'),
  TENANT_KEY_FORBIDDEN: at(403, 'A tenant-bound API key cannot make this request. Use a platform key.'),
  TENANT_SUSPENDED: at(
    403,
    'The tenant that this API key is bound to is suspended. Lift the suspension with a platform key.',
  ),
  TENANT_ARCHIVED: at(403, 'The tenant that this API key is bound to is archived. Restore it with a platform key.'),
  TENANT_NOT_FOUND: at(403, 'The tenant that this API key is bound to no longer exists. Use another key.'),
  TENANT_NOT_USABLE: at(
    409,
    'X-Service-Tenant-Ref refers to a suspended or archived tenant. Reactivate the tenant or refer to another one.',
  ),
  DOMAIN_TENANT_MISMATCH: at(403, 'The "from" domain belongs to another tenant. Send from a domain of this tenant.'),
  DOMAIN_NOT_ALLOWED_FOR_KEY: at(
    403,
    'This API key cannot send from this domain. Add the domain to allowed_domain_ids of the key or use another key.',
  ),
  ORG_SUSPENDED: at(403, 'This organisation is suspended. Contact the operator of this service.'),
  SMS_DESTINATION_NOT_ALLOWED: at(
    403,
    "The destination country is not on your organisation's allowlist. Add the country before sending to it.",
  ),
  SENDER_DOMAIN_NOT_VERIFIED: at(403, 'The "from" domain is not verified. Verify it before sending from it.'),
  SANDBOX_RECIPIENT_NOT_ALLOWED: at(
    403,
    'The sandbox sender can only send to verified addresses of organisation members. To reach anyone else, send from a verified domain.',
  ),
  SCOPE_ESCALATION: at(
    403,
    'An API key cannot grant scopes that it does not have. Remove them, or use a key that has them.',
  ),
  DOMAIN_SCOPE_ESCALATION: at(
    403,
    'An API key cannot grant domains that it cannot send from. Remove them from allowed_domain_ids.',
  ),
  CIDR_SCOPE_ESCALATION: at(403, 'An API key cannot grant addresses outside its own allowed_cidrs. Narrow the ranges.'),
  EXPIRY_ESCALATION: at(403, 'An API key cannot grant an expiry later than its own. Set an earlier expires_at.'),
  RATE_LIMIT_ESCALATION: at(
    403,
    'An API key cannot grant a rate limit above its own. Set a lower rate_limit_per_minute.',
  ),
  ENVIRONMENT_ESCALATION: at(403, 'A test-mode API key cannot change live data. Use a live key.'),
  PROJECT_SCOPED_KEY: at(
    403,
    'A project-bound API key cannot create projects. Use a key that is not bound to a project.',
  ),
  STEP_UP_REQUIRED: at(
    403,
    'Confirm with your own password first. An identity provider opened this session for its organisation only.',
  ),

  // Validation and conflicts
  VALIDATION_ERROR: at(422, 'The request is invalid. See errors for the fields to correct.'),
  INVALID_CURSOR: at(422, 'The cursor is invalid. Pass next_cursor from the previous page unchanged.'),
  INVALID_TENANT_REF: at(422, 'X-Service-Tenant-Ref must be 1 to 200 characters long.'),
  INVALID_EXTERNAL_REF: at(422, 'external_ref must be 1 to 200 characters long.'),
  IDEMPOTENCY_MISMATCH: at(
    409,
    'This Idempotency-Key was already used with a different request. Use a new key for a new request.',
  ),
  IDEMPOTENCY_IN_FLIGHT: at(409, 'A request with this Idempotency-Key is still in progress. Retry shortly.'),
  ALL_SUPPRESSED: at(422, 'Every recipient is suppressed. Remove the suppressions or send to other addresses.'),
  TO_ALL_SUPPRESSED: at(422, 'Every "to" address is suppressed. Provide at least one that is not.'),
  SUPPRESSED: at(422, 'The recipient is suppressed. Remove the suppression or send to another recipient.'),
  UNSUBSCRIBE_REQUIRES_BROADCAST: at(
    422,
    '{{unsubscribe_url}} requires the broadcast stream. Set stream to "broadcast" or remove the placeholder.',
  ),
  UNSUBSCRIBE_MULTI_RECIPIENT: at(
    422,
    '{{unsubscribe_url}} requires exactly one recipient. Send to each recipient separately.',
  ),
  NOT_RESENDABLE: at(
    409,
    'This message has not been sent yet. Only messages that were sent or failed can be sent again.',
  ),
  CONTENT_REDACTED: at(409, 'The content of this message was removed, so it cannot be sent again.'),
  ATTACHMENTS_NOT_STORED: at(409, 'Attachments are not stored, so this message cannot be sent again.'),
  NOT_SCHEDULED: at(409, 'This message is not scheduled. Only scheduled messages can be canceled.'),
  SCHEDULED_AT_IN_PAST: at(422, 'scheduled_at cannot be more than 5 minutes in the past. Provide a future time.'),
  SCHEDULED_AT_TOO_FAR: at(422, 'scheduled_at cannot be more than 366 days ahead. Provide an earlier time.'),
  SCHEDULED_SINGLE_RECIPIENT: at(
    422,
    'A scheduled email must have exactly one "to" address. Schedule one email per recipient.',
  ),
  SCHEDULED_NO_ATTACHMENTS: at(422, 'A scheduled email cannot have attachments. Remove them or send the email now.'),
  ATTACHMENT_TOO_LARGE: at(
    413,
    'Attachments exceed 7 MB in total. Remove some, or link to the files from the message.',
  ),
  PAYLOAD_TOO_LARGE: at(413, 'The request body exceeds the size limit of this endpoint. Send a smaller body.'),
  AUDIENCE_TOO_LARGE: at(413, 'An audience send cannot exceed 10,000 recipients. Split the audience.'),
  TEMPLATE_MISSING_VARIABLES: at(
    422,
    'The template requires variables that are missing from the request. Add them to variables.',
  ),
  TEMPLATE_TENANT_SCOPED: at(422, 'This template exists only on tenants. Name a tenant in X-Service-Tenant-Ref.'),
  INVALID_FROM: at(422, '"from" must be an email address with a domain.'),
  NO_SENDER: at(422, '"from" is required.'),
  UNDELIVERABLE_DESTINATION: at(422, 'This destination cannot receive a code. Use another address or number.'),
  HIGH_COST_DESTINATION: at(422, 'Satellite and international-network numbers are not supported. Use another number.'),
  MMS_TOO_MANY_ATTACHMENTS: at(422, 'An MMS cannot have more than 10 files. Remove some.'),
  MMS_INVALID_MEDIA_URI: at(422, 'media_url must contain URIs such as s3://bucket/key.'),
  DLT_TEMPLATE_REQUIRED: at(422, 'Messages to +91 numbers require dlt_template_id.'),
  DLT_TEMPLATE_NOT_FOUND: at(422, 'The DLT template does not exist. Check dlt_template_id.'),
  DLT_TEMPLATE_NOT_APPROVED: at(422, 'The DLT template is not approved. Wait for approval or use another template.'),
  DLT_TEMPLATE_NOT_PROVISIONED: at(422, 'The DLT template has no provider ids yet. Retry after they are issued.'),
  SENDER_NOT_REGISTERED: at(422, 'The sender is not registered. Register it before sending from it.'),
  SENDER_NOT_VERIFIED: at(422, 'The sender is not verified. Wait for verification before sending from it.'),
  COUNTRY_NOT_PROVISIONABLE: at(422, 'Numbers can be provisioned only in the US and Canada. Use US or CA.'),
  SENDER_ALREADY_REGISTERED: at(409, 'This sender id is already registered. Use the existing sender or another id.'),
  BRAND_NOT_FOUND: at(422, 'The brand does not exist. Check the brand id.'),
  CAMPAIGN_NOT_FOUND: at(422, 'The campaign does not exist. Check the campaign id.'),
  BRAND_NOT_VERIFIED: at(422, 'The brand is not approved. Wait for approval before adding campaigns.'),
  CAMPAIGN_NOT_VERIFIED: at(422, 'The campaign is not approved. Wait for approval before adding numbers.'),
  BRAND_IS_TEST_MODE: at(422, 'A test-mode brand cannot be used in live mode. Register the brand with a live key.'),
  CAMPAIGN_IS_TEST_MODE: at(
    422,
    'A test-mode campaign cannot be used in live mode. Register the campaign with a live key.',
  ),
  BRAND_IS_LIVE_MODE: at(422, 'A test-mode API key can change only simulated brands. Use a live key.'),
  BRAND_HAS_CAMPAIGNS: at(409, 'The brand still has campaigns. Delete them before deleting the brand.'),
  NUMBER_ALREADY_REGISTERED: at(409, 'This number is already registered. Retry to get another one.'),
  NO_FIELDS: at(422, 'No fields to change. Provide at least one.'),
  WEBHOOK_URL_NOT_ALLOWED: at(422, 'This webhook URL is not allowed. Use an HTTPS URL with a public host.'),
  SUPPRESSION_PROTECTED: at(409, 'Suppressions with reason stop or complaint cannot be removed.'),
  QUERY_BODY_CONFLICT: at(
    422,
    'The query and the body name different suppressions. Name the same one, or use only one of them.',
  ),
  TENANT_SLUG_CONFLICT: at(409, 'Another tenant already uses this slug. Choose another one.'),
  TENANT_EXTERNAL_REF_CONFLICT: at(409, 'Another tenant already uses this external_ref. Choose another one.'),
  TENANT_ACTIVE: at(409, 'The tenant is active. Suspend or archive it before erasing it.'),
  TENANT_NOT_ACTIVE: at(409, 'The tenant is not active. Lift its suspension or restore it first.'),
  TENANT_NOT_SUSPENDED: at(409, 'The tenant is not suspended, so there is no suspension to lift.'),
  TENANT_NOT_ARCHIVED: at(409, 'The tenant is not archived, so there is nothing to restore.'),
  TENANT_ERASED: at(409, 'The tenant is erased and cannot be changed.'),
  IP_POOL_PAUSED: at(409, "The domain's dedicated IP pool is paused. Resume the pool or assign another one."),
  IP_POOL_IN_USE: at(409, 'Domains are still assigned to this IP pool. Move them before deleting it.'),
  BY_KEY_NOT_AVAILABLE: at(422, 'by_key is not available to tenant-bound API keys. Omit it or use a platform key.'),
  KEY_REVOKED: at(409, 'This API key is revoked and cannot be changed. Create a new key.'),
  SELF_REVOKE_FORBIDDEN: at(422, 'An API key cannot revoke itself. Revoke it with another key.'),
  DOMAIN_ALREADY_ADDED: at(409, 'This domain already exists in the project. Use the existing domain.'),
  DOMAIN_RESERVED: at(422, 'This domain is reserved by the service. Add a domain that you own.'),
  PROJECT_NOT_EMPTY: at(409, 'The project is not empty. Delete or move the resources listed in errors.'),
  PROJECT_IS_DEFAULT: at(409, 'The default project cannot be deleted.'),
  ORG_SLUG_TAKEN: at(409, 'Another organisation already uses this slug. Choose another one.'),
  PROJECT_SLUG_TAKEN: at(409, 'Another project already uses this slug. Choose another one.'),
  POOL_SLUG_TAKEN: at(409, 'Another pool already uses this slug. Choose another one.'),
  DLT_IN_USE: at(409, 'This DLT record is still in use. Remove what refers to it first.'),
  TEMPLATE_SLUG_TAKEN: at(409, 'Another template already uses this slug. Choose another one.'),
  AUDIENCE_SLUG_TAKEN: at(409, 'Another audience already uses this slug. Choose another one.'),
  CONTACT_ALREADY_EXISTS: at(409, 'Another contact already has this email address. Change or delete that contact.'),
  WARMUP_ALREADY_ACTIVE: at(409, 'Warmup is already active for this domain. End it before starting a new one.'),
  ENDPOINT_DISABLED: at(409, 'This webhook endpoint is disabled. Enable it first.'),
  UNAVAILABLE: at(503, 'The service cannot process the request at the moment. Nothing was changed. Retry the request.'),
  SEND_FAILED: at(502, 'The provider rejected the code. Check the destination and retry.'),
  METHOD_NOT_ALLOWED: at(405, 'This path does not support this method. See the Allow header.'),
  UNSUPPORTED_MEDIA_TYPE: at(415, 'The request body must be JSON. Send it with Content-Type: application/json.'),
  INVALID_IDEMPOTENCY_KEY: at(400, 'An idempotency key must be 1 to 255 printable ASCII characters.'),

  // Limits
  RATE_LIMITED: at(429, 'Too many requests. Retry after the number of seconds in Retry-After.'),
  KEY_CREATION_RATE_LIMITED: at(429, 'You can create at most 10 API keys per hour. Retry later.'),
  USAGE_LIMIT_EXCEEDED: at(429, "Your plan's monthly quota is used up. Upgrade the plan or wait until next month."),
  TENANT_QUOTA_EXCEEDED: at(429, "The tenant's monthly quota is used up. Raise the quota or wait until next month."),
  TEST_DAILY_LIMIT: at(429, 'The daily test-mode limit is reached. Retry after 00:00 UTC.'),
  WARMUP_LIMIT_EXCEEDED: at(429, "The domain is warming up and has reached today's limit. Retry after 00:00 UTC."),
  SANDBOX_DAILY_LIMIT: at(
    429,
    'The sandbox sender has reached its limit of 100 recipients per day. Retry after 00:00 UTC.',
  ),
  REPLAY_RATE_LIMITED: at(429, 'You can replay at most 10 times per minute per endpoint. Retry later.'),
  TEST_FIRE_RATE_LIMITED: at(429, 'You can send at most 20 test deliveries per minute per endpoint. Retry later.'),
  PROVISION_LIMIT_EXCEEDED: at(429, 'You can make at most 10 registrations per hour. Retry later.'),
  SPEND_CAP_EXCEEDED: at(
    402,
    "This send would exceed your organisation's spend cap. Raise the cap or wait until next month.",
  ),
  PLAN_RESOURCE_LIMIT: at(
    402,
    'Your plan does not allow more of this resource. Upgrade the plan or delete what you no longer use.',
  ),
  DEDICATED_IP_LIMIT_EXCEEDED: at(
    402,
    'Your plan does not allow more dedicated IPs. Upgrade the plan or release some.',
  ),

  // Not found, and server or provider faults
  NOT_FOUND: at(404, 'The resource does not exist. Check the path and the id.'),
  INTERNAL_ERROR: at(500, 'Something went wrong on our side. Retry, and include request_id if you report it.'),
  UNKNOWN: at(500, 'The response could not be parsed. Check whether the request took effect before retrying.'),
  AUDIENCE_SEND_INCOMPLETE: at(
    500,
    'Scheduling stopped part way. Messages that are scheduled already are sent unless you cancel the job in job_id.',
  ),
  PROVIDER_UNAVAILABLE: at(502, 'The provider is unavailable. Retry later.'),
  PROVIDER_EMPTY: at(502, 'The provider returned an empty response. Retry later.'),
  PROVIDER_ERROR: at(502, 'The provider rejected the message.'),
  MCP_UPSTREAM_TIMEOUT: at(
    504,
    'The request timed out and may have taken effect. Retry with the same idempotency key.',
  ),

  ...dashboardOnly,
} satisfies Record<string, Entry>

export type Code = keyof typeof catalogue

/** Codes that appear only on an item of a batch response, never as the error of a whole response. */
export const itemOnlyCodes = ['MESSAGE_NOT_RECORDED'] as const

export const dashboardCodes: ReadonlySet<Code> = new Set(Object.keys(dashboardOnly) as Code[])

export type ErrorType =
  | 'authentication_error'
  | 'validation_error'
  | 'rate_limit_error'
  | 'not_found_error'
  | 'server_error'

/** Codes whose type differs from the type of their HTTP status. */
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

/** One entry of `errors[]`. */
export type FieldError = { path: (string | number)[]; code: string; message: string }

export type FailureDetail = {
  /** Replaces the catalogue's message. Must not contain secrets or internal details. */
  message?: string
  /** Replaces the sentence of the flat error body under /api/internal and /api/auth. */
  flatMessage?: string
  errors?: FieldError[]
  /** Seconds, for the `Retry-After` header. */
  retryAfter?: number
  /** Additional fields of the error object, such as `message_id`. */
  extra?: Record<string, unknown>
  headers?: Record<string, string>
  /** The request took effect before it failed. Its Idempotency-Key stays locked, so a retry cannot repeat the effect. */
  done?: true
  /** Logged where it happened, so the server does not log it again. */
  logged?: true
  /** Logged, but never sent to the caller. */
  cause?: unknown
}

/** Longer than any name of a field. A caller's own names may have megabytes, and the response must not repeat them. */
const maxPathPart = 200

const shortened = (row: FieldError): FieldError => ({
  ...row,
  path: row.path.map((part) =>
    typeof part === 'string' && part.length > maxPathPart ? `${part.slice(0, maxPathPart).toWellFormed()}…` : part,
  ),
})

/** An error that a caller can cause and handle by its code. Any other thrown error becomes INTERNAL_ERROR. */
export class Failure extends Error {
  readonly code: Code
  readonly detail: FailureDetail

  constructor(code: Code, detail: FailureDetail = {}) {
    super(detail.message ?? catalogue[code].text, { cause: detail.cause })
    this.name = 'Failure'
    this.code = code
    this.detail = detail.errors ? { ...detail, errors: detail.errors.map(shortened) } : detail
  }

  get status(): number {
    return statusOf(this.code)
  }
}

/** The error body under /api/v1. */
export const envelope = (failure: Failure, requestId: string): string =>
  JSON.stringify({
    error: {
      type: typeOf(failure.code),
      message: failure.message,
      code: failure.code,
      request_id: requestId,
      ...(failure.detail.errors && { errors: failure.detail.errors }),
      ...failure.detail.extra,
    },
  })

export const invalid = (path: (string | number)[], code: string, message: string): Failure =>
  new Failure('VALIDATION_ERROR', { errors: [{ path, code, message }] })

export const malformed = (message: string, path: FieldError['path'] = []): Failure => invalid(path, 'custom', message)

/** Every 429 has a `Retry-After`, except SANDBOX_DAILY_LIMIT, which resets at 00:00 UTC. */
export const retryAfterOf = ({ code, status, detail }: Failure): number | undefined => {
  if (code === 'SANDBOX_DAILY_LIMIT') return undefined
  const seconds = detail.retryAfter ?? (status === 429 ? 60 : undefined)
  return seconds === undefined ? undefined : Math.max(1, Math.ceil(seconds))
}

/** A fault of the service that nobody has logged yet. An UNAVAILABLE without a cause is an ordinary refusal. */
export const isUnlogged = ({ code, cause, detail }: Failure): boolean =>
  !detail.logged && (code === 'INTERNAL_ERROR' || (code === 'UNAVAILABLE' && cause !== undefined))

/** Refusals whose flat body has no `code`: the status and the sentence are the whole answer. */
export const codelessRefusals: ReadonlySet<Code> = new Set<Code>([
  'UNAUTHORIZED',
  'NOT_FOUND',
  'INVALID_CURSOR',
  'INTERNAL_ERROR',
  'OWNER_ROLE_REQUIRED',
  'DEVELOPER_ROLE_REQUIRED',
  'WRITE_ACCESS_REQUIRED',
  'NOT_PRIMARY_OWNER',
  'INVALID_TIME_RANGE',
  'KEY_CREATION_RATE_LIMITED',
  'PROVISION_LIMIT_EXCEEDED',
])

/** The text of docs/errors.md. */
export const errorsPage = (): string =>
  [
    '# Errors',
    '',
    'Generated by `npm run docs` from `src/platform/ground/errors.ts`. `npm run check` fails if the two differ.',
    '',
    'Every error under `/api/v1` has this body:',
    '',
    '```json',
    '{ "error": { "type": "validation_error", "message": "…", "code": "VALIDATION_ERROR",',
    '             "request_id": "req_…", "errors": [{ "path": ["limit"], "code": "too_big", "message": "…" }] } }',
    '```',
    '',
    '- `code` and the HTTP status are stable. Use them to handle errors in your program.',
    '- `type` groups related codes. It does not always follow from the HTTP status.',
    '- `message` is written for people, and its wording may change.',
    '- `errors` lists the invalid fields. It is present on validation errors and on the codes below that mention it.',
    '- `request_id` is also in the `X-Request-Id` header. Include it when you report a problem.',
    '',
    'After a 429, wait for the number of seconds in `Retry-After` or until `X-RateLimit-Reset` (Unix time in',
    'milliseconds), or back off exponentially with jitter. `SANDBOX_DAILY_LIMIT` is the only 429 without',
    '`Retry-After`: it resets at 00:00 UTC.',
    '',
    'A request that gets 503 `UNAVAILABLE` has certainly had no effect: send the same request again after the number of',
    'seconds in `Retry-After`. After a 500 that is not known; an `Idempotency-Key` makes the retry safe.',
    '',
    '| code | HTTP | type | message |',
    '|---|---|---|---|',
    ...(Object.keys(catalogue) as Code[])
      .filter((code) => !dashboardCodes.has(code))
      .sort()
      .map((code) => `| \`${code}\` | ${statusOf(code)} | \`${typeOf(code)}\` | ${catalogue[code].text} |`),
    '',
    `These codes appear only on an item of a batch response: ${itemOnlyCodes.map((code) => `\`${code}\``).join(', ')}.`,
    '',
    '## The dashboard',
    '',
    'Errors under `/api/internal` and `/api/auth` have a flat body: `{"error":"Cross-site request refused",',
    '"code":"CROSS_SITE_REFUSED"}`. `code` is absent where the status says enough, as when a role is missing. An invalid',
    'cursor is a 400 there. These codes appear only there:',
    '',
    '| code | HTTP | message |',
    '|---|---|---|',
    ...[...dashboardCodes]
      .filter((code) => !codelessRefusals.has(code))
      .sort()
      .map((code) => `| \`${code}\` | ${statusOf(code)} | ${catalogue[code].text} |`),
    '',
  ].join('\n')
