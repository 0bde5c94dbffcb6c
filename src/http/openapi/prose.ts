/** The sentences of the API description that belong to no single route. */

export const about = `One HTTP API for email, SMS and one-time codes.

## Plain HTTP

This interface is the whole contract. There are no client libraries to install, and none are needed: every call is
JSON over HTTP, and any HTTP client will do.

\`\`\`sh
curl "$BASE_URL/api/v1/suppressions" \\
  -H "Authorization: Bearer $API_KEY"
\`\`\`

## Keys

Send an API key with every request as \`Authorization: Bearer <key>\`. A key belongs to one organisation and to one
environment, \`live\` or \`test\`. It opens the routes whose scope it holds; each operation names the scope it needs, here
and as \`x-required-scope\`. A write scope does not include the read scope of the same name.

## Tenants

A key of the whole organisation acts for one of its tenants when \`X-Service-Tenant-Ref\` names it, in your own words. A
tenant that is named for the first time is made.

## Versions

The version is part of the path: \`/api/v1\`. Within it things are only ever added: fields, optional parameters, events,
error codes, values of an enumeration. Ignore what you do not know. Anything else would come under \`/api/v2\`. A route on
its way out announces it with \`Deprecation\` and \`Sunset\` headers for at least twelve months.

## Errors

Every refusal has the same body. Branch on \`error.code\`; each response below lists the codes it can carry.
\`error.message\` is for people and may be reworded. Keep \`error.request_id\`, which is also the \`X-Request-Id\` of every
answer, for when you ask about a request.

## Lists

Lists are newest first. Pass \`next_cursor\` back as \`cursor\`, unchanged, for the next page; \`has_more\` says whether there
is one.

## Retries

Operations that take \`Idempotency-Key\` can be repeated safely: the first success is recorded, and the same key with the
same request answers with it again, marked \`Idempotent-Replayed: true\`. The same key with another request is a conflict.

## Rates

Requests are counted over a sliding minute, per organisation and, where a key has a limit of its own, per key. The
\`X-RateLimit-*\` headers tell where you stand. After a 429 wait as long as \`Retry-After\` says.
`

export const statusTexts: Record<number, string> = {
  400: 'The request cannot be read.',
  401: 'No valid API key was given.',
  402: 'The plan or the spend cap allows no more.',
  403: 'This key, its tenant or its organisation may not do this.',
  404: 'Nothing by this id is visible to this key.',
  409: 'The request conflicts with how things stand.',
  413: 'The request is too large.',
  415: 'The body is not JSON.',
  422: 'The request was understood and cannot be accepted.',
  429: 'A limit is used up.',
  500: 'Something failed on the side of the service.',
  502: 'The provider behind the service refused or failed.',
  503: 'The service cannot take this just now.',
  504: 'The service did not answer in time.',
}

/** What each group of operations is about. The order here is the order of the groups in the description. */
export const tagTexts: Record<string, string> = {
  Emails: 'Sending email, now or later, one at a time or many, and what became of it.',
  Keys: 'Who may call, for what, from where, how often and until when.',
  Tenants: "A platform's own customers, each kept apart from the others.",
  Projects: 'Parts of an organisation with their own keys, domains and messages.',
  Domains: 'What email is sent from: the records to publish, whether they are there, and warmup.',
  'IP pools': "Addresses that only the organisation's own mail leaves from.",
  Usage: 'What was sent this month, what it cost and what is left.',
  Templates: 'What messages say, with places for what differs from one to the next.',
  Webhooks: 'Where events are told, signed, and what became of each telling.',
  Suppressions: 'Addresses and numbers that are not to be written to, and why.',
}
