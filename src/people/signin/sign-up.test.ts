import { afterAll, describe, expect, test } from 'vitest'
import { addPerson } from '../../../test/clients/people.ts'
import {
  entriesAbout,
  goodPassword,
  mailedCode,
  mailsTo,
  openBrowser,
  otherThan,
  registerPerson,
} from '../../../test/clients/sign-in-client.ts'
import { watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

let counter = 0
const newEmail = (): string => `person${++counter}@example.com`
let addresses = 0
/** Each browser has its own address, so that the limits per address do not meet. */
const browser = () => openBrowser(t, `203.0.113.${++addresses}`)
const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })
const settled = () => t.service.people.background.drained()

const given = (email: string, more = {}) => ({
  email,
  password: goodPassword,
  name: 'Ann Lee',
  org_name: 'Acme',
  ...more,
})
const invalidCode = [400, { error: 'Invalid or expired code', code: 'INVALID_CODE' }]

/** Registration makes the account after its response. */
const userOf = async (email: string) => {
  await settled()
  const [user] = await t.database.sql('select * from users where email = $1', [email])
  return user as Record<string, unknown> | undefined
}

describe('registration', () => {
  test('A-001 A-002 A-117 A-131 makes an account with an org, and the mailed code verifies it and signs in', async () => {
    const email = newEmail()
    const ann = browser()
    const registered = await ann.post('/api/auth/register', given(email))
    expect([registered.status, registered.body]).toEqual([202, { status: 'verification_sent', email }])
    expect(registered.headers['set-cookie']).toMatch(
      /^service_pending=[\w-]{43}; Max-Age=1800; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    const user = await userOf(email)
    expect(user?.email_verified_at).toBeNull()
    const verified = await ann.post('/api/auth/verify-email', { email, code: await mailedCode(t, email) })
    expect([verified.status, verified.body]).toEqual([
      200,
      {
        status: 'signed_in',
        user: { id: user?.id, email, name: 'Ann Lee' },
        active_org_id: user?.default_org_id,
        redirect_to: '/',
      },
    ])
    expect(verified.headers['set-cookie']).toEqual([
      expect.stringMatching(/^service_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/),
      expect.stringMatching(/^service_device=[\w.-]{70,75}; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Lax$/),
      'service_pending=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    ])
    const { body } = await ann.ask('GET', '/api/auth/session')
    expect(body.active_org).toMatchObject({ name: 'Acme', role: 'owner', suspended: false })
    const [org] = await t.database.sql<{ owner_user_id: string; plan: string }>('select * from orgs where id = $1', [
      user?.default_org_id,
    ])
    expect([org?.owner_user_id, org?.plan]).toEqual([user?.id, 'free'])
    const projects = await t.database.sql('select slug from projects where org_id = $1', [user?.default_org_id])
    expect(projects).toEqual([{ slug: 'default' }])
    expect((await entriesAbout(t, user?.id as string)).map(({ action }) => action)).toEqual([
      'user.registered',
      'org.created',
      'user.email_verified',
      'user.login',
    ])
  })

  test('the mail has a text and an HTML part with the same code and nothing from elsewhere', async () => {
    const email = newEmail()
    await browser().post('/api/auth/register', given(email))
    const [mail] = await mailsTo(t, email)
    const code = await mailedCode(t, email)
    expect(mail).toMatchObject({ from: 'Tidings <notices@tidings.test>', subject: 'Verify your email address' })
    expect(mail?.html).toContain(`>${code}</p>`)
    expect(mail?.html).toContain('The code is valid for 30 minutes and works once.')
    expect(mail?.html).not.toMatch(/src=|url\(|<script|@import/)
  })

  test('a known address gets the same answer, and its owner a mail instead of a change', async () => {
    const { email, userId } = await addPerson(t)
    const before = await userOf(email)
    await t.service.modules.outbox.flushed()
    await t.database.sql('delete from local_outbox')
    const leavesNoTrace = await watchTables(t.database)
    const known = await leavesNoTrace(async () => {
      const reply = await browser().post('/api/auth/register', given(email, { password: 'another long password' }))
      await settled()
      await t.service.modules.outbox.flushed()
      await t.database.sql('delete from local_outbox')
      return reply
    })
    const unknown = await browser().post('/api/auth/register', given(newEmail()))
    expect([known.status, Object.keys(known.body), Object.keys(known.headers).sort()]).toEqual([
      unknown.status,
      Object.keys(unknown.body),
      Object.keys(unknown.headers).sort(),
    ])
    expect(await userOf(email)).toEqual(before)
    expect(await entriesAbout(t, userId)).toEqual([])
    await browser().post('/api/auth/register', given(email))
    expect((await mailsTo(t, email)).map(({ subject }) => subject)).toEqual(['You already have an account'])
  })

  test('an unverified address can be registered again, which replaces name, password and code', async () => {
    const email = newEmail()
    await browser().post('/api/auth/register', given(email))
    const first = await mailedCode(t, email)
    const before = await userOf(email)
    const second = browser()
    await second.post('/api/auth/register', given(email, { name: 'Bea', password: 'a different password' }))
    const after = await userOf(email)
    expect([after?.id, after?.name, after?.default_org_id]).toEqual([before?.id, 'Bea', before?.default_org_id])
    expect(after?.password_hash).not.toBe(before?.password_hash)
    const code = await mailedCode(t, email)
    if (first !== code) {
      const stale = await second.post('/api/auth/verify-email', { email, code: first })
      expect([stale.status, stale.body]).toEqual(invalidCode)
    }
    expect((await second.post('/api/auth/verify-email', { email, code })).body.status).toBe('signed_in')
  })

  test('at most 3 mails an hour go to an address, and the answer does not change', async () => {
    const email = newEmail()
    for (let i = 0; i < 5; i++) expect((await browser().post('/api/auth/register', given(email))).status).toBe(202)
    expect(await mailsTo(t, email)).toHaveLength(3)
  })

  test('at most 20 mails an hour come from one client address, and beyond that nothing is made', async () => {
    const same = openBrowser(t, '203.0.113.250')
    const emails = Array.from({ length: 21 }, newEmail)
    for (const email of emails) expect((await same.post('/api/auth/register', given(email))).status).toBe(202)
    expect(await userOf(emails[19] as string)).toBeDefined()
    expect(await userOf(emails[20] as string)).toBeUndefined()
    expect(await mailsTo(t, emails[20] as string)).toEqual([])
  })

  test('an invite token that joins nothing leads to an own org at verification', async () => {
    const email = newEmail()
    const ann = browser()
    await ann.post('/api/auth/register', given(email, { invite_token: 'unknown' }))
    expect((await userOf(email))?.default_org_id).toBeNull()
    const reply = await ann.post('/api/auth/verify-email', { email, code: await mailedCode(t, email) })
    const user = await userOf(email)
    expect([reply.body.active_org_id, user?.default_org_id]).toEqual([user?.default_org_id, expect.any(String)])
    expect((await entriesAbout(t, user?.id as string)).map(({ action }) => action)).toEqual([
      'user.registered',
      'org.created',
      'user.email_verified',
      'user.login',
    ])
  })

  test.each([
    ['an address with a name', { email: 'Ann <ann@example.com>' }, 'email', 'invalid_email'],
    ['no address', { email: 'ann' }, 'email', 'invalid_email'],
    ['a short password', { password: 'too short' }, 'password', 'too_small'],
    ['a long password', { password: 'x'.repeat(129) }, 'password', 'too_big'],
    ['a common password', { password: 'Password123' }, 'password', 'common_password'],
    ['one repeated character', { password: 'aaaaaaaaaaaa' }, 'password', 'common_password'],
    [
      'the address as password',
      { email: 'someone@example.com', password: 'Someone@example.com' },
      'password',
      'same_as_email',
    ],
    ['an empty name', { name: ' ' }, 'name', 'too_small'],
    ['a name with a line break', { name: 'Ann\nBcc: x' }, 'name', 'custom'],
    ['a misspelled field', { orgName: 'x' }, 'orgName', 'unrecognized'],
  ])('refuses %s', async (_, more, field, code) => {
    const reply = await browser().post('/api/auth/register', given('ann@example.com', more))
    expect([reply.status, reply.body.error, reply.body.code]).toEqual([422, 'Validation failed', 'VALIDATION_ERROR'])
    expect(reply.body.errors).toEqual([expect.objectContaining({ path: [field], code })])
    expect(await userOf('ann@example.com')).toBeUndefined()
  })

  test('addresses are trimmed and compared in lower case', async () => {
    const email = newEmail()
    await browser().post('/api/auth/register', given(`  ${email.toUpperCase()} `))
    expect(await userOf(email)).toBeDefined()
  })
})

describe('verification of the address', () => {
  const registered = async () => {
    const email = newEmail()
    const ann = browser()
    await ann.post('/api/auth/register', given(email))
    return { email, ann, code: await mailedCode(t, email) }
  }

  test('elsewhere than in the browser that registered it verifies without signing in', async () => {
    const { email, code } = await registered()
    const elsewhere = browser()
    const reply = await elsewhere.post('/api/auth/verify-email', { email, code })
    expect([reply.status, reply.body]).toEqual([200, { status: 'verified', redirect_to: '/login' }])
    expect(elsewhere.cookie('service_session')).toBeUndefined()
    expect((await userOf(email))?.email_verified_at).toBeInstanceOf(Date)
    expect(await t.database.sql('select 1 from sessions where user_id = $1', [(await userOf(email))?.id])).toEqual([])
  })

  test('a code works once, and a wrong, used or expired one gets the same answer as an unknown address', async () => {
    const { email, ann, code } = await registered()
    const verify = async (address: string, given: string) => {
      const reply = await browser().post('/api/auth/verify-email', { email: address, code: given })
      return [reply.status, reply.body]
    }
    expect(await verify(email, otherThan(code))).toEqual(invalidCode)
    expect(await verify('stranger@example.com', code)).toEqual(invalidCode)
    expect(await verify(email, 'abcdef')).toEqual(invalidCode)
    expect((await ann.post('/api/auth/verify-email', { email, code })).status).toBe(200)
    expect(await verify(email, code)).toEqual(invalidCode)
    const late = await registered()
    await advance(1_800)
    expect(await verify(late.email, late.code)).toEqual(invalidCode)
  })

  test('five wrong tries end a code', async () => {
    const { email, ann, code } = await registered()
    for (let i = 0; i < 5; i++) {
      expect((await ann.post('/api/auth/verify-email', { email, code: otherThan(code) })).status).toBe(400)
    }
    const reply = await ann.post('/api/auth/verify-email', { email, code })
    expect([reply.status, reply.body]).toEqual(invalidCode)
    expect((await userOf(email))?.email_verified_at).toBeNull()
  })

  test('of fifty guesses at once at most five are judged, and of two right ones one counts', async () => {
    const { email, code } = await registered()
    const guess = (given: string) => browser().post('/api/auth/verify-email', { email, code: given })
    await Promise.all(Array.from({ length: 50 }, () => guess(otherThan(code))))
    expect((await guess(code)).status).toBe(400)
    const again = await registered()
    const both = await Promise.all([
      again.ann.post('/api/auth/verify-email', again),
      again.ann.post('/api/auth/verify-email', again),
    ])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400])
  })

  test('only a hash of the code is stored', async () => {
    const { email, code } = await registered()
    const [row] = await t.database.sql(
      "select to_jsonb(c)::text as row, convert_from(decode(encode(c.code_hash, 'hex'), 'escape'), 'latin1') as hash from account_codes c join users u on u.id = c.user_id where u.email = $1",
      [email],
    )
    expect(JSON.stringify(row)).not.toContain(code)
  })
})

describe('resending', () => {
  test('A-004 A-005 sends a new code, 3 times an hour; the fourth is refused and sends nothing', async () => {
    const email = newEmail()
    const ann = browser()
    await ann.post('/api/auth/register', given(email))
    const first = await mailedCode(t, email)
    const resend = () => ann.post('/api/auth/resend-verification', { channel: 'email', email })
    for (let i = 0; i < 3; i++) {
      const reply = await resend()
      expect([reply.status, reply.body]).toEqual([202, { status: 'verification_sent' }])
      await settled()
    }
    const refused = await resend()
    expect([refused.status, refused.body]).toEqual([
      429,
      { error: 'Too many verification requests. Try again later.', code: 'RATE_LIMITED' },
    ])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_500)
    await settled()
    expect(await mailsTo(t, email)).toHaveLength(4)
    const code = await mailedCode(t, email)
    if (first !== code) expect((await ann.post('/api/auth/verify-email', { email, code: first })).status).toBe(400)
    expect((await ann.post('/api/auth/verify-email', { email, code })).body.status).toBe('signed_in')
    await advance(3_600)
    expect((await resend()).status).toBe(202)
  })

  test('an unknown and a verified address get the same answers and no mail', async () => {
    const { email } = await addPerson(t)
    for (const address of [email, newEmail()]) {
      const replies = []
      for (let i = 0; i < 4; i++) {
        replies.push(await browser().post('/api/auth/resend-verification', { channel: 'email', email: address }))
      }
      await settled()
      expect(replies.map(({ status }) => status)).toEqual([202, 202, 202, 429])
      expect(await mailsTo(t, address)).toEqual([])
    }
  })
})

describe('the phone number', () => {
  const phone = '+14155550123'
  const signedIn = async () => {
    const ann = browser()
    const { body } = await registerPerson(t, ann, newEmail())
    return { ann, userId: body.user.id as string }
  }
  const textedCode = async (to: string): Promise<string> => {
    const [sms] = (await mailsTo(t, to, 'sms')) as unknown as { body: string }[]
    return /^\d{6}/.exec(sms?.body ?? '')?.[0] as string
  }

  test('A-003 A-132 is verified with a texted code', async () => {
    const { ann, userId } = await signedIn()
    const sent = await ann.post('/api/auth/verify-phone', { phone })
    expect([sent.status, sent.body]).toEqual([202, { status: 'code_sent', expires_at: expect.any(String) }])
    const code = await textedCode(phone)
    const wrong = await ann.post('/api/auth/verify-phone', { phone, code: otherThan(code) })
    expect([wrong.status, wrong.body]).toEqual(invalidCode)
    const done = await ann.post('/api/auth/verify-phone', { phone, code })
    expect([done.status, done.body]).toEqual([200, { status: 'verified', phone }])
    expect((await ann.post('/api/auth/verify-phone', { phone, code })).body).toEqual(invalidCode[1])
    expect((await ann.ask('GET', '/api/auth/session')).body.user).toMatchObject({ phone, phone_verified: true })
    expect((await entriesAbout(t, userId)).at(-1)).toMatchObject({
      action: 'user.phone_verified',
      actor_user_id: userId,
    })
  })

  test('a code is for one number and one user, and expires after 10 minutes', async () => {
    const { ann } = await signedIn()
    const other = await signedIn()
    await ann.post('/api/auth/verify-phone', { phone: '+14155550124' })
    const code = await textedCode('+14155550124')
    for (const who of [other.ann, ann]) {
      const number = who === ann ? '+14155550199' : '+14155550124'
      expect((await who.post('/api/auth/verify-phone', { phone: number, code })).status).toBe(400)
    }
    await advance(600)
    expect((await ann.post('/api/auth/verify-phone', { phone: '+14155550124', code })).status).toBe(400)
  })

  test('expensive ranges and other texts are refused, and starts are limited to 5 an hour', async () => {
    const { ann } = await signedIn()
    const costly = await ann.post('/api/auth/verify-phone', { phone: '+881612345678' })
    expect([costly.status, costly.body.code]).toEqual([422, 'HIGH_COST_DESTINATION'])
    expect((await ann.post('/api/auth/verify-phone', { phone: '4155550123' })).status).toBe(422)
    for (const unassigned of ['+2101234567', '+9991234567']) {
      const reply = await ann.post('/api/auth/verify-phone', { phone: unassigned })
      const errors = [{ path: ['phone'], code: 'custom', message: 'No country has this calling code.' }]
      expect([reply.status, reply.body]).toEqual([
        422,
        { error: 'Validation failed', code: 'VALIDATION_ERROR', errors },
      ])
      expect(await mailsTo(t, unassigned, 'sms')).toEqual([])
    }
    for (let i = 0; i < 5; i++) {
      expect((await ann.post('/api/auth/verify-phone', { phone: `+1415555013${i}` })).status).toBe(202)
    }
    const refused = await ann.post('/api/auth/verify-phone', { phone: '+14155550139' })
    expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
    expect(await mailsTo(t, '+14155550139', 'sms')).toEqual([])
  })

  test('a number that someone is verifying gets a new code, and any other the same answer', async () => {
    const { ann } = await signedIn()
    const number = '+14155550160'
    await ann.post('/api/auth/verify-phone', { phone: number })
    for (const asked of [number, '+14155550161']) {
      const reply = await browser().post('/api/auth/resend-verification', { channel: 'phone', phone: asked })
      expect([reply.status, reply.body]).toEqual([202, { status: 'verification_sent' }])
    }
    await settled()
    expect(await mailsTo(t, number, 'sms')).toHaveLength(2)
    expect(await mailsTo(t, '+14155550161', 'sms')).toEqual([])
    const verified = await ann.post('/api/auth/verify-phone', { phone: number, code: await textedCode(number) })
    expect(verified.status).toBe(200)
  })
})
