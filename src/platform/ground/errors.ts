/** Every error code the API returns, and the `Failure` error that carries one. The list is closed. */

type Entry = { status: number; text: string }

const at = <Codes extends string>(status: number, texts: Record<Codes, string>): Record<Codes, Entry> => {
  const entries = Object.entries<string>(texts).map(([code, text]) => [code, { status, text }])
  return Object.fromEntries(entries)
}

/** Codes that appear only under /api/internal and /api/auth. */
const dashboardOnly = {
  ...at(400, {
    INVALID_CODE: 'Invalid or expired code',
    INVALID_TOKEN: 'This link is invalid or has expired',
  }),
  ...at(403, {
    OWNER_ROLE_REQUIRED: 'Owner role required',
    DEVELOPER_ROLE_REQUIRED: 'Developer or owner role required',
    WRITE_ACCESS_REQUIRED: 'Write access required',
    CROSS_SITE_REFUSED: 'Cross-site request refused',
    CONFIRMATION_FAILED: 'The password is wrong',
    NOT_PRIMARY_OWNER: 'Only the primary owner can transfer ownership',
    INVITATION_EMAIL_MISMATCH: 'This invitation was sent to another address',
    SSO_REQUIRED: 'Your organisation requires single sign-on',
  }),
  ...at(409, {
    TWO_FACTOR_ENABLED: 'Two-factor authentication is already enabled',
    TWO_FACTOR_NOT_ENABLED: 'Two-factor authentication is not enabled',
    PRIMARY_OWNER: 'The primary owner cannot be demoted or removed',
    SELF_REMOVE: 'You cannot remove yourself',
    ALREADY_MEMBER: 'Already a member',
    SOLE_OWNER: 'You are the only member of an organisation you own',
    SCIM_TOKEN_LIMIT: 'The organisation has two live directory tokens. Revoke one first.',
    DOMAIN_NOT_VERIFIED: 'The domain is not verified. Verify it first.',
    PLAN_NOT_HIGHER: 'Your organisation already has this plan or a higher one',
    EXPORT_NOT_READY: 'Export is not ready',
    SSO_NOT_TESTED: 'Sign in once through this configuration before you enforce it',
    SSO_NO_DOMAIN: 'Verify an email domain before you enforce single sign-on',
  }),
  ...at(410, {
    INVITATION_EXPIRED: 'This invitation has expired',
    EXPORT_EXPIRED: 'The file of this export was deleted. Start another export.',
  }),
  ...at(416, { RANGE_NOT_SATISFIABLE: 'The requested range is outside the file' }),
  ...at(422, {
    OWNER_NOT_MAPPABLE: 'A directory group cannot grant the owner role',
    INVALID_TIME_RANGE: 'The bounds of a range must be ISO 8601 timestamps',
    SCOPE_NOT_GRANTABLE: 'Scope cannot be granted',
  }),
  ...at(429, {
    UNLOCK_REQUIRED:
      'Too many wrong passwords for this address. If it has an account, a link was mailed to it that lets you sign in. A browser that you have signed in with before still works.',
  }),
  ...at(503, {
    MAIL_UNAVAILABLE: 'The mail could not be sent. Try again in a few minutes.',
    TEXT_UNAVAILABLE: 'The text message could not be sent. Try again in a few minutes.',
    EXPORT_UNAVAILABLE: 'The file of this export cannot be read at the moment. Try again in a few minutes.',
    AUDIT_SIGNING_DISABLED:
      'Audit signing is not configured, so the log cannot be verified. This does not mean the log is clean.',
  }),
}

export const catalogue = {
  ...at(400, { INVALID_IDEMPOTENCY_KEY: 'An idempotency key must be 1 to 255 printable ASCII characters.' }),
  ...at(401, {
    UNAUTHORIZED:
      'The API key is missing or invalid. Send a valid key in the Authorization header: "Authorization: Bearer <key>".',
  }),
  ...at(402, {
    SPEND_CAP_EXCEEDED: "This send would exceed your organisation's spend cap. Raise the cap or wait until next month.",
    PLAN_RESOURCE_LIMIT:
      'Your plan does not allow more of this resource. Upgrade the plan or delete what you no longer use.',
    DEDICATED_IP_LIMIT_EXCEEDED: 'Your plan does not allow more dedicated IPs. Upgrade the plan or release some.',
  }),
  ...at(403, {
    INSUFFICIENT_SCOPE: 'This API key does not have the scope that this request requires. Use a key that has it.',
    IP_NOT_ALLOWED: 'This API key cannot be used from your IP address. Add the address to allowed_cidrs of the key.',
    TENANT_FORBIDDEN: 'This API key is bound to another tenant. Use a key of that tenant or a platform key.',
    TENANT_KEY_CANNOT_CREATE_TENANTS: 'A tenant-bound API key cannot create tenants. Use a platform key.',
    TENANT_KEY_CANNOT_DELETE: 'A tenant-bound API key cannot delete tenants. Use a platform key.',
    TENANT_KEY_FORBIDDEN: 'A tenant-bound API key cannot make this request. Use a platform key.',
    TENANT_SUSPENDED: 'The tenant that this API key is bound to is suspended. Lift the suspension with a platform key.',
    TENANT_ARCHIVED: 'The tenant that this API key is bound to is archived. Restore it with a platform key.',
    TENANT_NOT_FOUND: 'The tenant that this API key is bound to no longer exists. Use another key.',
    DOMAIN_TENANT_MISMATCH: 'The "from" domain belongs to another tenant. Send from a domain of this tenant.',
    DOMAIN_NOT_ALLOWED_FOR_KEY:
      'This API key cannot send from this domain. Add the domain to allowed_domain_ids of the key or use another key.',
    ORG_SUSPENDED: 'This organisation is suspended. Contact the operator of this service.',
    SMS_DESTINATION_NOT_ALLOWED:
      "The destination country is not on your organisation's allowlist. Add the country before sending to it.",
    SENDER_DOMAIN_NOT_VERIFIED: 'The "from" domain is not verified. Verify it before sending from it.',
    SANDBOX_RECIPIENT_NOT_ALLOWED:
      'The sandbox sender can only send to verified addresses of organisation members. To reach anyone else, send from a verified domain.',
    SCOPE_ESCALATION: 'An API key cannot grant scopes that it does not have. Remove them, or use a key that has them.',
    DOMAIN_SCOPE_ESCALATION:
      'An API key cannot grant domains that it cannot send from. Remove them from allowed_domain_ids.',
    CIDR_SCOPE_ESCALATION: 'An API key cannot grant addresses outside its own allowed_cidrs. Narrow the ranges.',
    EXPIRY_ESCALATION: 'An API key cannot grant an expiry later than its own. Set an earlier expires_at.',
    RATE_LIMIT_ESCALATION: 'An API key cannot grant a rate limit above its own. Set a lower rate_limit_per_minute.',
    ENVIRONMENT_ESCALATION: 'A test-mode API key cannot change live data. Use a live key.',
    PROJECT_SCOPED_KEY: 'A project-bound API key cannot create projects. Use a key that is not bound to a project.',
    STEP_UP_REQUIRED:
      'Confirm with your own password first. An identity provider opened this session for its organisation only.',
  }),
  ...at(404, { NOT_FOUND: 'The resource does not exist. Check the path and the id.' }),
  ...at(405, { METHOD_NOT_ALLOWED: 'This path does not support this method. See the Allow header.' }),
  ...at(409, {
    TENANT_NOT_USABLE:
      'X-Service-Tenant-Ref refers to a suspended or archived tenant. Reactivate the tenant or refer to another one.',
    IDEMPOTENCY_MISMATCH:
      'This Idempotency-Key was already used with a different request. Use a new key for a new request.',
    IDEMPOTENCY_IN_FLIGHT: 'A request with this Idempotency-Key is still in progress. Retry shortly.',
    NOT_RESENDABLE: 'This message has not been sent yet. Only messages that were sent or failed can be sent again.',
    CONTENT_REDACTED: 'The content of this message was removed, so it cannot be sent again.',
    ATTACHMENTS_NOT_STORED: 'Attachments are not stored, so this message cannot be sent again.',
    NOT_SCHEDULED: 'This message is not scheduled. Only scheduled messages can be canceled.',
    SENDER_ALREADY_REGISTERED: 'This sender id is already registered. Use the existing sender or another id.',
    BRAND_HAS_CAMPAIGNS: 'The brand still has campaigns. Delete them before deleting the brand.',
    NUMBER_ALREADY_REGISTERED: 'This number is already registered. Retry to get another one.',
    SUPPRESSION_PROTECTED: 'Suppressions with reason stop or complaint cannot be removed.',
    TENANT_SLUG_CONFLICT: 'Another tenant already uses this slug. Choose another one.',
    TENANT_EXTERNAL_REF_CONFLICT: 'Another tenant already uses this external_ref. Choose another one.',
    TENANT_ACTIVE: 'The tenant is active. Suspend or archive it before erasing it.',
    TENANT_NOT_ACTIVE: 'The tenant is not active. Lift its suspension or restore it first.',
    TENANT_NOT_SUSPENDED: 'The tenant is not suspended, so there is no suspension to lift.',
    TENANT_NOT_ARCHIVED: 'The tenant is not archived, so there is nothing to restore.',
    TENANT_ERASED: 'The tenant is erased and cannot be changed.',
    IP_POOL_PAUSED: "The domain's dedicated IP pool is paused. Resume the pool or assign another one.",
    IP_POOL_IN_USE: 'Domains are still assigned to this IP pool. Move them before deleting it.',
    KEY_REVOKED: 'This API key is revoked and cannot be changed. Create a new key.',
    DOMAIN_ALREADY_ADDED: 'This domain already exists in the project. Use the existing domain.',
    PROJECT_NOT_EMPTY: 'The project is not empty. Delete or move the resources listed in errors.',
    PROJECT_IS_DEFAULT: 'The default project cannot be deleted.',
    ORG_SLUG_TAKEN: 'Another organisation already uses this slug. Choose another one.',
    PROJECT_SLUG_TAKEN: 'Another project already uses this slug. Choose another one.',
    POOL_SLUG_TAKEN: 'Another pool already uses this slug. Choose another one.',
    DLT_IN_USE: 'This DLT record is still in use. Remove what refers to it first.',
    TEMPLATE_SLUG_TAKEN: 'Another template already uses this slug. Choose another one.',
    AUDIENCE_SLUG_TAKEN: 'Another audience already uses this slug. Choose another one.',
    CONTACT_ALREADY_EXISTS: 'Another contact already has this email address. Change or delete that contact.',
    WARMUP_ALREADY_ACTIVE: 'Warmup is already active for this domain. End it before starting a new one.',
    ENDPOINT_DISABLED: 'This webhook endpoint is disabled. Enable it first.',
  }),
  ...at(413, {
    ATTACHMENT_TOO_LARGE: 'Attachments exceed 7 MB in total. Remove some, or link to the files from the message.',
    PAYLOAD_TOO_LARGE: 'The request body exceeds the size limit of this endpoint. Send a smaller body.',
    AUDIENCE_TOO_LARGE: 'An audience send cannot exceed 10,000 recipients. Split the audience.',
  }),
  ...at(415, { UNSUPPORTED_MEDIA_TYPE: 'The request body must be JSON. Send it with Content-Type: application/json.' }),
  ...at(422, {
    VALIDATION_ERROR: 'The request is invalid. See errors for the fields to correct.',
    INVALID_CURSOR: 'The cursor is invalid. Pass next_cursor from the previous page unchanged.',
    INVALID_TENANT_REF: 'X-Service-Tenant-Ref must be 1 to 200 characters long.',
    INVALID_EXTERNAL_REF: 'external_ref must be 1 to 200 characters long.',
    ALL_SUPPRESSED: 'Every recipient is suppressed. Remove the suppressions or send to other addresses.',
    TO_ALL_SUPPRESSED: 'Every "to" address is suppressed. Provide at least one that is not.',
    SUPPRESSED: 'The recipient is suppressed. Remove the suppression or send to another recipient.',
    UNSUBSCRIBE_REQUIRES_BROADCAST:
      '{{unsubscribe_url}} requires the broadcast stream. Set stream to "broadcast" or remove the placeholder.',
    UNSUBSCRIBE_MULTI_RECIPIENT:
      '{{unsubscribe_url}} requires exactly one recipient. Send to each recipient separately.',
    SCHEDULED_AT_IN_PAST: 'scheduled_at cannot be more than 5 minutes in the past. Provide a future time.',
    SCHEDULED_AT_TOO_FAR: 'scheduled_at cannot be more than 366 days ahead. Provide an earlier time.',
    SCHEDULED_SINGLE_RECIPIENT:
      'A scheduled email must have exactly one "to" address. Schedule one email per recipient.',
    SCHEDULED_NO_ATTACHMENTS: 'A scheduled email cannot have attachments. Remove them or send the email now.',
    TEMPLATE_MISSING_VARIABLES:
      'The template requires variables that are missing from the request. Add them to variables.',
    TEMPLATE_TENANT_SCOPED: 'This template exists only on tenants. Name a tenant in X-Service-Tenant-Ref.',
    INVALID_FROM: '"from" must be an email address with a domain.',
    NO_SENDER: '"from" is required.',
    UNDELIVERABLE_DESTINATION: 'This destination cannot receive a code. Use another address or number.',
    HIGH_COST_DESTINATION: 'Satellite and international-network numbers are not supported. Use another number.',
    MMS_TOO_MANY_ATTACHMENTS: 'An MMS cannot have more than 10 files. Remove some.',
    MMS_INVALID_MEDIA_URI: 'media_url must contain URIs such as s3://bucket/key.',
    DLT_TEMPLATE_REQUIRED: 'Messages to +91 numbers require dlt_template_id.',
    DLT_TEMPLATE_NOT_FOUND: 'The DLT template does not exist. Check dlt_template_id.',
    DLT_TEMPLATE_NOT_APPROVED: 'The DLT template is not approved. Wait for approval or use another template.',
    DLT_TEMPLATE_NOT_PROVISIONED: 'The DLT template has no provider ids yet. Retry after they are issued.',
    SENDER_NOT_REGISTERED: 'The sender is not registered. Register it before sending from it.',
    SENDER_NOT_VERIFIED: 'The sender is not verified. Wait for verification before sending from it.',
    COUNTRY_NOT_PROVISIONABLE: 'Numbers can be provisioned only in the US and Canada. Use US or CA.',
    BRAND_NOT_FOUND: 'The brand does not exist. Check the brand id.',
    CAMPAIGN_NOT_FOUND: 'The campaign does not exist. Check the campaign id.',
    BRAND_NOT_VERIFIED: 'The brand is not approved. Wait for approval before adding campaigns.',
    CAMPAIGN_NOT_VERIFIED: 'The campaign is not approved. Wait for approval before adding numbers.',
    BRAND_IS_TEST_MODE: 'A test-mode brand cannot be used in live mode. Register the brand with a live key.',
    CAMPAIGN_IS_TEST_MODE: 'A test-mode campaign cannot be used in live mode. Register the campaign with a live key.',
    BRAND_IS_LIVE_MODE: 'A test-mode API key can change only simulated brands. Use a live key.',
    NO_FIELDS: 'No fields to change. Provide at least one.',
    WEBHOOK_URL_NOT_ALLOWED: 'This webhook URL is not allowed. Use an HTTPS URL with a public host.',
    QUERY_BODY_CONFLICT:
      'The query and the body name different suppressions. Name the same one, or use only one of them.',
    BY_KEY_NOT_AVAILABLE: 'by_key is not available to tenant-bound API keys. Omit it or use a platform key.',
    SELF_REVOKE_FORBIDDEN: 'An API key cannot revoke itself. Revoke it with another key.',
    DOMAIN_RESERVED: 'This domain is reserved by the service. Add a domain that you own.',
  }),
  ...at(429, {
    RATE_LIMITED: 'Too many requests. Retry after the number of seconds in Retry-After.',
    KEY_CREATION_RATE_LIMITED: 'You can create at most 10 API keys per hour. Retry later.',
    USAGE_LIMIT_EXCEEDED: "Your plan's monthly quota is used up. Upgrade the plan or wait until next month.",
    TENANT_QUOTA_EXCEEDED: "The tenant's monthly quota is used up. Raise the quota or wait until next month.",
    TEST_DAILY_LIMIT: 'The daily test-mode limit is reached. Retry after 00:00 UTC.',
    WARMUP_LIMIT_EXCEEDED: "The domain is warming up and has reached today's limit. Retry after 00:00 UTC.",
    SANDBOX_DAILY_LIMIT: 'The sandbox sender has reached its limit of 100 recipients per day. Retry after 00:00 UTC.',
    REPLAY_RATE_LIMITED: 'You can replay at most 10 times per minute per endpoint. Retry later.',
    TEST_FIRE_RATE_LIMITED: 'You can send at most 20 test deliveries per minute per endpoint. Retry later.',
    PROVISION_LIMIT_EXCEEDED: 'You can make at most 10 registrations per hour. Retry later.',
  }),
  ...at(500, {
    INTERNAL_ERROR: 'Something went wrong on our side. Retry, and include request_id if you report it.',
    UNKNOWN: 'The response could not be parsed. Check whether the request took effect before retrying.',
    AUDIENCE_SEND_INCOMPLETE:
      'Scheduling stopped part way. Messages that are scheduled already are sent unless you cancel the job in job_id.',
  }),
  ...at(502, {
    SEND_FAILED: 'The provider rejected the code. Check the destination and retry.',
    PROVIDER_UNAVAILABLE: 'The provider is unavailable. Retry later.',
    PROVIDER_EMPTY: 'The provider returned an empty response. Retry later.',
    PROVIDER_ERROR: 'The provider rejected the message.',
  }),
  ...at(503, {
    UNAVAILABLE: 'The service cannot process the request at the moment. Nothing was changed. Retry the request.',
  }),
  ...at(504, {
    MCP_UPSTREAM_TIMEOUT: 'The request timed out and may have taken effect. Retry with the same idempotency key.',
  }),
  ...dashboardOnly,
}

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
