/** Starting a verification: its fields, what is sent and stored, and who may be the sender. */
import { afterAll, describe, expect, test } from 'vitest'
import { simulated } from '../../../test/clients/texter.ts'
import { startPath, verifier } from '../../../test/clients/verifier.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)
const own = await verifier(t)
const now = () => t.service.clock.millis()

test('S-022 S-063 a key without the scope write:verifications can neither start nor check', async () => {
  const key = await t.key(own.orgId, { scopes: ['send:sms', 'send:email'] })
  expectRefusal(await leavesNoTrace(() => own.start({}, { key })), 'INSUFFICIENT_SCOPE')
  expectRefusal(await own.check('ver_01m7enh4ebe4v8v4n3fpdzaxet', '123456', { key }), 'INSUFFICIENT_SCOPE')
  const narrow = await t.key(own.orgId, { scopes: ['write:verifications'] })
  expect((await own.start({}, { key: narrow })).status).toBe(201)
})

test.each(['live', 'test'] as const)(
  'S-023 S-024 S-025 S-036 a %s start returns exactly id, status, channel and expires_at',
  async (environment) => {
    for (const [channel, reply] of [
      ['sms', await own.start({}, { key: own[environment] })],
      ['email', await own.startEmail({}, { key: own[environment] })],
    ] as const) {
      expect([reply.status, reply.body]).toEqual([
        201,
        {
          id: expect.stringMatching(/^ver_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
          status: 'pending',
          channel,
          expires_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
        },
      ])
    }
  },
)

test('S-032 S-033 S-034 S-035 the defaults are the usual text, six digits, ten minutes and five attempts', async () => {
  const to = own.newNumber()
  const before = now()
  const { body } = await own.start({ to })
  const handed = await own.handed(body.id)
  expect(handed).toMatchObject({ channel: 'sms', message_id: null, from: 'TIDINGS', to: [to], dlt: null, text: null })
  expect(handed.body).toMatch(/^Your verification code is \d{6}$/)
  const row = await own.stored(body.id)
  expect(row).toEqual({
    tenant_id: null,
    environment: 'live',
    channel: 'sms',
    destination: to,
    code_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    attempts: 0,
    max_attempts: 5,
    dlt_template_id: null,
    created_at: expect.any(Date),
    expires_at: new Date(body.expires_at),
    used_at: null,
  })
  expect(row.expires_at.getTime() - row.created_at.getTime()).toBe(600_000)
  expect(row.created_at.getTime()).toBeGreaterThanOrEqual(before - 1)
  expect(row.created_at.getTime()).toBeLessThanOrEqual(now())
})

test('S-032 S-036 R-29 an email has the given subject, the template as text, and the escaped text as html', async () => {
  const given = { subject: 'Sign in', template: '<{{code}}> & "{{ code }}"', code_length: 4 }
  const { body } = await own.startEmail(given)
  const code = await own.code(body.id)
  expect(code).toMatch(/^\d{4}$/)
  expect(await own.handed(body.id)).toMatchObject({
    channel: 'email',
    message_id: null,
    from: 'login@example.test',
    subject: 'Sign in',
    text: `<${code}> & "${code}"`,
    html: expect.stringMatching(new RegExp(`^&lt;${code}&gt; &amp; .*${code}`)),
    body: null,
  })
  const byDefault = await own.handed((await own.startEmail()).body.id)
  expect(byDefault.subject).toBe('Your verification code')
  const sms = await own.started({ subject: 'ignored' })
  expect(await own.handed(sms)).toMatchObject({ subject: null })
})

describe('bounds', () => {
  const field = (name: string, reply: { body: { error: { code: string; errors: { path: string[] }[] } } }) => {
    expect(reply.body.error.code).toBe('VALIDATION_ERROR')
    expect(reply.body.error.errors.map(({ path }) => path)).toEqual([[name]])
  }

  test.each([
    ['code_length', 4, 10],
    ['ttl_seconds', 60, 3_600],
    ['max_attempts', 1, 10],
  ])('S-033 S-034 S-035 X-353 %s accepts %i to %i and nothing else', async (name, min, max) => {
    for (const value of [min - 1, max + 1, min + 0.5, String(min), null]) {
      const reply = await leavesNoTrace(() => own.start({ [name]: value }))
      expect(reply.status).toBe(422)
      field(name, reply)
    }
    for (const value of [min, max]) {
      const { status, body } = await own.start({ [name]: value })
      expect(status).toBe(201)
      if (name === 'code_length') expect(await own.code(body.id)).toHaveLength(value)
      const { created_at, expires_at, max_attempts } = await own.stored(body.id)
      if (name === 'ttl_seconds') expect(expires_at.getTime() - created_at.getTime()).toBe(value * 1000)
      if (name === 'max_attempts') expect(max_attempts).toBe(value)
    }
  })

  test.each([
    ['channel', { channel: undefined }],
    ['channel', { channel: 'voice' }],
    ['to', { to: undefined }],
    ['to', { to: 'ada@example.com' }],
    ['to', { to: '07946000000' }],
    ['to', { to: '+0123' }],
    ['to', { channel: 'email', to: '+447946000000' }],
    ['to', { channel: 'email', to: 'Ada <ada@example.com>' }],
    ['to', { channel: 'email', to: `${'a'.repeat(320)}@example.com` }],
    ['from', { from: 5 }],
    ['template', { template: '' }],
    ['template', { template: 'no code' }],
    ['template', { template: '{{code}} for {{name}}' }],
    ['template', { template: '{{code}} {{#if code}}' }],
    ['template', { template: `{{code}}${'x'.repeat(1_593)}` }],
    ['subject', { subject: '' }],
    ['subject', { subject: 'a\nb' }],
    ['subject', { subject: 'x'.repeat(999) }],
    ['rate_limit_key', { rate_limit_key: '' }],
    ['rate_limit_key', { rate_limit_key: 'x'.repeat(129) }],
  ])('S-026 S-027 S-032 SD-21 an invalid %s is refused: %j', async (name, given) => {
    const reply = await leavesNoTrace(() => own.start(given))
    expect(reply.status).toBe(422)
    field(name, reply)
  })

  test('SD-21 the longest template and subject are accepted', async () => {
    const template = `{{code}}${'é'.repeat(1_592)}`
    const reply = await own.startEmail({ template, subject: 'x'.repeat(998), rate_limit_key: 'x'.repeat(128) })
    expect(reply.status).toBe(201)
  })
})

describe('the sender', () => {
  test.each([undefined, null, ''])(
    'S-028 X-236 SD-15 without from (%j) a start is NO_SENDER, with any key',
    async (from) => {
      for (const key of [own.live, own.test]) {
        expectRefusal(await leavesNoTrace(() => own.start({ from }, { key })), 'NO_SENDER')
        expectRefusal(await leavesNoTrace(() => own.startEmail({ from }, { key })), 'NO_SENDER')
      }
    },
  )

  test('S-029 SD-15 a live SMS needs a verified number or sender id of the org', async () => {
    const registered = '+15125550199'
    await own.number(registered)
    await own.alphanumeric('Waiting', { status: 'pending' })
    expect((await own.start({ from: registered })).status).toBe(201)
    expectRefusal(await leavesNoTrace(() => own.start({ from: 'Waiting' })), 'SENDER_NOT_VERIFIED')
    for (const from of ['+15125550198', 'Nobody', 'not valid!', 'x'.repeat(500), 'login@example.test']) {
      expectRefusal(await leavesNoTrace(() => own.start({ from })), 'SENDER_NOT_REGISTERED')
      expect((await own.start({ from }, { key: own.test })).status).toBe(201)
    }
  })

  test('S-030 SD-15 a live email needs an address on a verified domain of the org', async () => {
    for (const from of ['nobody', 'no domain@', '@', 'a b@example.test']) {
      expectRefusal(await leavesNoTrace(() => own.startEmail({ from })), 'INVALID_FROM')
      expect((await own.startEmail({ from }, { key: own.test })).status).toBe(201)
    }
    const from = 'login@other.example'
    expectRefusal(await leavesNoTrace(() => own.startEmail({ from })), 'SENDER_DOMAIN_NOT_VERIFIED')
    expect((await own.startEmail({ from }, { key: own.test })).status).toBe(201)
    expect((await own.startEmail({ from: 'Acme <login@example.test>' })).status).toBe(201)
  })

  test('a key that is restricted to domains cannot send codes from others', async () => {
    const key = await t.key(own.orgId, { allowedDomainIds: ['dom_01m7enh4ebe4v8v4n3fpdzaxet'] })
    const reply = await leavesNoTrace(() => own.startEmail({}, { key }))
    expect(reply.status).toBe(403)
  })
})

describe('the sandbox sender', () => {
  test('S-031 S-048 it sends codes to verified members only, and test keys skip the rule', async () => {
    const { sandbox: from, owner } = own
    expect((await own.startEmail({ from, to: owner.email.toUpperCase() })).status).toBe(201)
    const stranger = { from, to: 'stranger@example.com' }
    expectRefusal(await leavesNoTrace(() => own.startEmail(stranger)), 'SANDBOX_RECIPIENT_NOT_ALLOWED')
    expect((await own.startEmail(stranger, { key: own.test })).status).toBe(201)
  })

  test('S-049 SANDBOX_DAILY_LIMIT once the cap is used up, and a code never adds to it', async () => {
    const other = await verifier(t)
    const { sandbox: from, owner, orgId } = other
    const toOwner = { from, to: owner.email }
    expect((await other.startEmail(toOwner)).status).toBe(201)
    expect(await other.used()).toEqual({ 'org live email': 1, 'key live email': 1 })
    const day = t.service.clock.now().toISOString().slice(0, 10)
    const use = (used: number) =>
      t.database.sql(
        `insert into usage_counters (org_id, subject, environment, measure, period, used)
         values ($1, 'org', 'live', 'sandbox', $2, $3)
         on conflict (org_id, subject, environment, measure, period) do update set used = excluded.used`,
        [orgId, day, used],
      )
    await use(99)
    expect((await other.startEmail(toOwner)).status).toBe(201)
    expect(await other.used()).toMatchObject({ 'org live sandbox': 99, 'org live email': 2 })
    await use(100)
    expectRefusal(await leavesNoTrace(() => other.startEmail(toOwner)), 'SANDBOX_DAILY_LIMIT')
  })
})

describe('what a start spends', () => {
  test('S-061 an SMS code is billed as SMS, an email code as email', async () => {
    const other = await verifier(t, { plan: 'payg' })
    await other.started({ template: `{{code}} ${'x'.repeat(160)}` })
    await other.startEmail()
    const used = await other.used()
    expect(used).toMatchObject({ 'org live sms': 1, 'org live segments': 2, 'org live email': 1, 'key live sms': 1 })
    expect(used['org live spend']).toBeGreaterThan(0)
  })

  test('S-059 S-060 SD-17 a test start contacts no provider and counts as a test message', async () => {
    const other = await verifier(t)
    for (const length of [4, 10]) {
      const id = await other.started({ to: simulated.refused, code_length: length }, { key: other.test })
      expect((await other.codesSent()).some(({ verification_id }) => verification_id === id)).toBe(false)
      const code = '1234567890'.slice(0, length)
      expect((await other.check(id, code, { key: other.test })).body).toEqual({ id, status: 'approved' })
    }
    expect(await other.used()).toMatchObject({ 'org test messages': 2, 'org test sms': 2 })
  })

  test('SD-20 a start stores no message, no event and no audit entry', async () => {
    const other = await verifier(t)
    await other.started()
    await other.startEmail()
    expect(await other.traces()).toMatchObject({ messages: [], events: [], audited: [], outbox: 0 })
    expect((await t.ask('GET', '/api/v1/sms', { key: other.live })).body.data).toEqual([])
    expect((await t.ask('GET', '/api/v1/emails', { key: other.live })).body.data).toEqual([])
    expect(await t.database.sql('select 1 from local_outbox where verification_id is not null')).toEqual([])
  })
})

describe('idempotency', () => {
  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })

  test('S-020 S-057 a replay returns the first verification, even after it expired, and sends nothing', async () => {
    const body = { to: own.newNumber(), ttl_seconds: 60 }
    const first = await own.start(body, keyed('one'))
    expect(first.status).toBe(201)
    await own.advance(61)
    const sent = (await own.codesSent()).length
    const replayed = await leavesNoTrace(() => own.start(body, keyed('one')))
    expect([replayed.status, replayed.body]).toEqual([201, first.body])
    expect(replayed.headers['idempotent-replayed']).toBe('true')
    expect((await own.codesSent()).length).toBe(sent)
    expectRefusal(await own.start({ ...body, code_length: 8 }, keyed('one')), 'IDEMPOTENCY_MISMATCH')
  })

  test('S-056 a refusal frees the key', async () => {
    const to = own.newNumber()
    await own.suppress(to)
    const refused = await own.start({ to }, keyed('two'))
    expectRefusal(refused, 'UNDELIVERABLE_DESTINATION')
    await t.database.sql('delete from suppressions where org_id = $1', [own.orgId])
    expect((await own.start({ to }, keyed('two'))).status).toBe(201)
  })
})

test('a start without a key is unauthorized, and the check route has no GET', async () => {
  expectRefusal(await t.ask('POST', startPath, { body: {} }), 'UNAUTHORIZED')
  expect((await t.ask('GET', startPath, { key: own.live })).status).toBe(405)
})
