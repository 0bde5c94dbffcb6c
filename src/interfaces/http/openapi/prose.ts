/** Texts of the API description that do not belong to a single route. */

/** Where Amazon SNS delivers the notifications of SES. */
export const sesNotificationPath = '/api/webhooks/provider/email'

export const apiDescription = `One HTTP API for email, SMS and one-time codes.

## Plain HTTP

The HTTP interface is the whole contract. Requests and responses are JSON, and you can use any HTTP client. There are
no client libraries to install.

\`\`\`sh
curl "$BASE_URL/api/v1/suppressions" \\
  -H "Authorization: Bearer $API_KEY"
\`\`\`

## Authentication

Send your API key with every request as \`Authorization: Bearer <key>\`. A key belongs to one organisation and one
environment, \`live\` or \`test\`. It can call the operations that its scopes allow. Each operation lists the scope it
requires, also as \`x-required-scope\`. A write scope does not include the read scope of the same name.

## Tenants

With an organisation-wide API key, set \`X-Service-Tenant-Ref\` to your own identifier for a tenant to act on its behalf.
The tenant is created the first time you use an identifier.

## Versioning

The version is part of the path: \`/api/v1\`. Within a version, changes are backwards compatible: we may add fields,
optional parameters, events, error codes and enum values. Your client should ignore values it does not recognize.
Breaking changes are released under a new version, such as \`/api/v2\`. A deprecated operation returns \`Deprecation\` and
\`Sunset\` headers for at least twelve months before it is removed.

## Errors

All errors have the same body. Use \`error.code\` to handle errors in your program; each response below lists the codes it
can return. \`error.message\` is written for people, and its wording may change. When you report a problem, include
\`error.request_id\`, which is also in the \`X-Request-Id\` header of every response.

## Pagination

Lists are sorted newest first. To get the next page, pass \`next_cursor\` unchanged as \`cursor\`. \`has_more\` is \`true\` if
there is another page.

## Idempotency

You can safely retry operations that accept an \`Idempotency-Key\` header. The first successful response is recorded. A
retry with the same key and the same request returns that response, with the header \`Idempotent-Replayed: true\`. Using the
same key with a different request returns a 409.

## Rate limits

Requests are counted over a sliding window of 60 seconds, per organisation and, if an API key has its own limit, per key.
The \`X-RateLimit-*\` headers show your current usage. After a 429, wait for the number of seconds in \`Retry-After\`.

## Provider notifications

\`POST ${sesNotificationPath}\` receives the notifications of Amazon SES. It is not part of \`/api/v1\` and takes no API
key: it accepts messages of Amazon SNS whose signature is valid and whose topic the operator has listed in
\`SES_SNS_TOPICS\`. Subscribe this address of your installation to the topic, with HTTPS and without raw message delivery.
`

export const statusTexts: Record<number, string> = {
  400: 'The request cannot be parsed.',
  401: 'The API key is missing or invalid.',
  402: 'The plan or the spend cap does not allow this request.',
  403: 'The API key, its tenant or its organisation is not allowed to make this request.',
  404: 'The resource does not exist or is not accessible with this API key.',
  409: 'The request conflicts with the current state of a resource.',
  413: 'The request is too large.',
  415: 'The request body is not JSON in UTF-8, or it is compressed.',
  422: 'The request is invalid.',
  429: 'A limit is exceeded.',
  500: 'An error occurred on our side.',
  502: 'The provider rejected the request or failed.',
  503: 'The service is temporarily unavailable.',
  504: 'The request timed out.',
}

/** The description of each group of operations. Groups appear in this order. */
export const tagTexts: Record<string, string> = {
  Emails: 'Send emails immediately or on a schedule, one at a time or in batches, and track their status.',
  SMS: 'Send text and picture messages immediately or on a schedule, one at a time or in batches, and track their status.',
  Inbound: 'Text messages and emails that you received, with opt-outs.',
  Verifications: 'Send one-time codes by SMS or email, and check them.',
  Brands: 'Your company as the registry of US text messages knows it.',
  Campaigns: 'Kinds of text messages that you send in the US, registered for a brand.',
  'Phone numbers': 'Numbers and alphanumeric sender ids that you send text messages from.',
  Contacts: 'People with an email address or a phone number, and texts of your own about them.',
  Audiences: 'Named groups of contacts, filled one by one or from a CSV file.',
  Analytics: 'How many messages were sent, delivered, bounced, opened and clicked, by day, job or subject variant.',
  Keys: 'API keys: their scopes, restrictions, rate limits and expiry.',
  Tenants: 'Customers of your platform, isolated from each other.',
  Projects: 'Divide an organisation into projects with their own keys, domains and messages.',
  Domains: 'Domains that you send email from: DNS records, verification and warmup.',
  'IP pools': 'Dedicated IP addresses that carry only your email.',
  Jobs: 'Sends to audiences: starting, watching and canceling them.',
  Pools: 'Groups of SMS senders that share recipients, with one sender per recipient.',
  DLT: 'Registrations for text messages to India: entities, headers and templates.',
  Usage: 'Monthly usage, cost and remaining quota.',
  Templates: 'Reusable message content with variables.',
  Webhooks: 'Webhook endpoints, their deliveries and delivery attempts.',
  Suppressions: 'Email addresses and phone numbers that you do not send to.',
}
