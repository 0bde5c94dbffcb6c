/**
 * Compares the requests of routes that do similar things. A field that one of them has and another drops without a word
 * misleads its caller: the request succeeds and does something else. So each such field is accepted, refused at its path,
 * or listed here with the reason why it is right to ignore it.
 */
import { afterAll, expect, test } from 'vitest'
import type { z } from 'zod'
import { Compose, TestSend } from '../../src/interfaces/http/dashboard/send-by-member.ts'
import { Failure, type FieldError } from '../../src/platform/ground/errors.ts'
import { validate } from '../../src/platform/ground/validate.ts'
import { SendAudienceBody } from '../../src/sending/blasts/shapes.ts'
import { BatchItem, BulkEmail, SendEmail } from '../../src/sending/messages/email/shapes.ts'
import { BulkSms, SendSms, SmsBatchItem } from '../../src/sending/messages/sms/shapes.ts'
import { StartVerification } from '../../src/sending/verifications/shapes.ts'
import { blastClient, email, readers } from '../clients/blast-client.ts'
import { person } from '../clients/team-client.ts'
import { expectRefusal, watchTables } from '../expect/refusal.ts'
import { startTestService } from '../service/service.ts'
import { nodesOf } from './schemas.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())

const sends: Record<string, z.ZodType> = {
  'POST /emails': SendEmail,
  'an item of POST /emails/batch': BatchItem,
  'POST /emails/batch with a list of recipients': BulkEmail,
  'POST /sms': SendSms,
  'an item of POST /sms/batch': SmsBatchItem,
  'POST /sms/batch with a list of recipients': BulkSms,
  'POST /audiences/{id}/send': SendAudienceBody,
  'POST /verifications': StartVerification,
  'POST /api/internal/templates/test-send': TestSend,
  'POST /api/internal/messages/send': Compose,
}

const onlyCodes = 'Only a code has it. Without it, the message is the same.'
const ownLabel = 'A label of the caller for reads. Without it, the message is the same.'

const namedElsewhere = 'The path or the query names the row, or the service makes its id.'

/** A client may send a row back as it read it. A change of nothing else is refused with NO_FIELDS. */
const shownButFixed = 'The row shows it, and it cannot be changed here.'

const fixedFields = (names: string[]) => Object.fromEntries(names.map((name) => [`PATCH ${name}`, shownButFixed]))

/** For each family, the fields that its requests are right to ignore, and why. */
const ignored: Record<string, Record<string, string>> = {
  'send a message': {
    code_length: onlyCodes,
    ttl_seconds: onlyCodes,
    max_attempts: onlyCodes,
    rate_limit_key: onlyCodes,
    tags: ownLabel,
    metadata: ownLabel,
    channel: 'The path names the channel, or the template does.',
    dlt_template_id: 'Ignored for everything but text messages to India, as the contract says of codes by email.',
    track_opens: 'Text messages ignore it, as the contract says, and codes and tests are never tracked.',
    track_clicks: 'Text messages ignore it, as the contract says, and codes and tests are never tracked.',
    id: 'Only a test has it, which names its template by id.',
  },
  'change contacts': { ...fixedFields(['tenant_id']), 'PATCH contact_id': namedElsewhere },
  'change domains': { ...fixedFields(['name', 'region', 'project_id', 'tenant_id']), id: namedElsewhere },
  'change org': fixedFields(['slug']),
  'change ip-pools': fixedFields(['region']),
  'change phone-numbers': fixedFields(['kind', 'iso_country', 'type', 'sender_id']),
  'change pools': fixedFields(['slug', 'tenant_id']),
  'change templates': fixedFields(['channel', 'tenant_id']),
  'change tenants': fixedFields(['slug']),
  'change team/invite': { id: namedElsewhere },
  'list messages': { channel: 'The path names the channel.' },
  'list inbound': { channel: 'The path names the channel.' },
  'delete suppressions': { channel: namedElsewhere, value: namedElsewhere },
}

const namesIn = (schema: z.ZodType): Set<string> =>
  new Set(
    nodesOf(schema).flatMap(({ path: [name], schema: { _zod } }) =>
      name === undefined || name === '(value)' || _zod.def.type === 'never' ? [] : [String(name)],
    ),
  )

const refuses = (schema: z.ZodType, name: string): boolean => {
  try {
    validate(schema, { [name]: 'x' })
    return false
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return (error.detail.errors as FieldError[]).some(({ path }) => path.length === 1 && path[0] === name)
  }
}

/** The fields of the neighbours that a request drops. */
const droppedBy = (family: Record<string, z.ZodType>): string[] => {
  const all = new Set(Object.values(family).flatMap((schema) => [...namesIn(schema)]))
  return Object.entries(family).flatMap(([request, schema]) => {
    // The other fields of a composed message are validated with the schema of its channel.
    if (schema === Compose) return []
    const own = namesIn(schema)
    return [...all].filter((name) => !own.has(name) && !refuses(schema, name)).map((name) => `${request} ${name}`)
  })
}

/** Routes whose paths have other words for the same thing. */
const sameThing: Record<string, string> = {
  'api-keys': 'keys',
  'audiences/contacts': 'contacts',
  emails: 'messages',
  sms: 'messages',
  'inbound-sms': 'inbound',
  'inbound-emails': 'inbound',
  'webhooks/test': 'webhooks/test-fire',
}

type Described = { method: string; path: string; query?: z.ZodType | undefined; body?: z.ZodType | undefined }

/** What a request does to what, such as `change templates`. Undefined for one without neighbours. */
const familyOf = ({ method, path }: Described): string | undefined => {
  const thing = path.replace(/^\/api\/(?:v1|internal|auth)\//, '').replace(/\/?\{\w+\}/g, '')
  const kind = { GET: 'list', DELETE: 'delete' }[method] ?? 'change'
  if (kind === 'list' && /\}/.test(path)) return undefined
  return `${kind} ${sameThing[thing] ?? thing}`
}

const routes: Described[] = [
  ...t.service.routes.map((route) => ({ ...route, path: `/api/v1${route.path}` })),
  ...t.service.dashboardRoutes,
]

const families = new Map<string, Record<string, z.ZodType>>()
for (const route of routes) {
  const family = familyOf(route)
  const schema = route.method === 'GET' || route.method === 'DELETE' ? route.query : route.body
  // The sends of messages are compared above, with the schemas of the items of a batch.
  if (!family || !schema || family === 'change messages' || /send$|batch$/.test(family)) continue
  families.set(family, { ...families.get(family), [`${route.method} ${route.path}`]: schema })
}
families.set('send a message', sends)

/** The entries that could give the reason for a dropped field: its name, and its method and its name. */
const entriesFor = (dropped: string): string[] => {
  const words = dropped.split(' ')
  return [words.at(-1) as string, `${words[0]} ${words.at(-1)}`]
}

test.each([...families].filter(([, members]) => Object.keys(members).length > 1))(
  'SD-03 R-19 %s: no request drops a field of its neighbours silently',
  (family, members) => {
    const reasons = ignored[family] ?? {}
    const dropped = droppedBy(members)
    expect(dropped.filter((one) => !entriesFor(one).some((entry) => entry in reasons))).toEqual([])
    expect(Object.keys(reasons).filter((entry) => !dropped.some((one) => entriesFor(one).includes(entry)))).toEqual([])
  },
)

const leavesNoTrace = await watchTables(t.database)

test('S-359 SD-03 R-19 an audience send with scheduled_at is refused there on both surfaces, and nothing is sent', async () => {
  const own = await blastClient(t)
  const sender = await person(t, { orgId: own.orgId, role: 'developer' })
  const id = await own.audience(readers(2))
  const template = await own.template({ channel: 'email', subject: 'Hello', text: 'Dear {{name}}' })
  const body = { ...email(template), scheduled_at: '2030-01-01T09:00:00Z' }
  const message = 'Not supported here. Use scheduled_local with scheduled_at_tz.'
  const errors = [{ path: ['scheduled_at'], code: 'invalid_type', message }]
  expectRefusal(await leavesNoTrace(() => own.post(id, body)), 'VALIDATION_ERROR', { errors })
  for (const action of ['send', 'estimate']) {
    const ask = () => sender.ask('POST', `/api/internal/audiences/${id}/${action}`, body)
    const reply = await leavesNoTrace(ask)
    expect([reply.status, reply.body]).toEqual([422, { error: 'Validation failed', code: 'VALIDATION_ERROR', errors }])
  }
})

test('SD-03 R-19 a single email refuses the fields of other sends, also in another spelling, and is not sent', async () => {
  const { keys } = await t.org()
  const single = { from: 'hello@example.com', to: ['ada@example.com'], subject: 'Hi', text: 'Hello' }
  const given = { scheduledLocal: '2030-01-01T09:00', body: 'Hello', tenant_id: 'ten_1', environment: 'test' }
  const post = () => t.ask('POST', '/api/v1/emails', { key: keys.live, body: { ...single, ...given } })
  const row = (name: string, message: string) => ({ path: [name], code: 'unrecognized', message })
  const errors = [
    row('scheduledLocal', 'Not supported on this route.'),
    row('body', 'Not supported on this route.'),
    row('tenant_id', 'Use a key of the tenant, or name the tenant in X-Service-Tenant-Ref.'),
    row('environment', 'The key decides whether the message is live.'),
  ]
  expectRefusal(await leavesNoTrace(post), 'VALIDATION_ERROR', { errors })
})
