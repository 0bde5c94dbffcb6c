import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterAll, describe, expect, test } from 'vitest'
import { addPerson, signIn } from '../../../test/clients/people.ts'
import { goodPassword, openBrowser, otherThan } from '../../../test/clients/sign-in-client.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import { hashPassword } from '../../customers/accounts/passwords.ts'
import { HandoverFault } from '../../providers/handover.ts'

/** A relay that takes mail, or refuses all of it for now. */
const relay = { down: false, codes: [] as string[], mails: 0 }
const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  logger: false,
  disableReverseLookup: true,
  closeTimeout: 100,
  onMailFrom: (_address, _session, done) =>
    done(relay.down ? Object.assign(new Error('Try again later'), { responseCode: 451 }) : undefined),
  onData: (stream, _session, done) => {
    let raw = ''
    stream.on('data', (chunk) => {
      raw += chunk
    })
    stream.on('end', () => {
      relay.mails++
      relay.codes.push(/^ {4}(\d{6})\r?$/m.exec(raw)?.[1] ?? '')
      done()
    })
  },
})
server.on('error', () => undefined)
const listening = server.listen(0, '127.0.0.1')
await once(listening, 'listening')
const texting = { down: false }

const t = await startTestService({
  env: {
    EMAIL_PROVIDER: 'smtp',
    SMTP_URL: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    // Nothing listens there: the store of the rate limiter is unreachable.
    REDIS_URL: 'redis://127.0.0.1:1',
  },
  smsProvider: {
    name: 'test',
    send: async () => {
      if (texting.down) throw new HandoverFault('unavailable', 'test', 'down')
      return { provider: 'test', providerMessageId: 'x' }
    },
    close: async () => undefined,
  },
})
afterAll(async () => {
  await t.stop()
  await new Promise<void>((resolve) => server.close(resolve))
})

const passwordHash = await hashPassword(goodPassword)
const acme = await t.org()
const person = () => addPerson(t, { orgId: acme.org.id, passwordHash })
let addresses = 0
const browser = () => openBrowser(t, `2001:db8:${(++addresses).toString(16)}::1`)
const settled = () => t.service.people.background.drained()
const flat = ({ status, body }: Reply) => [status, body]
const lastCode = (): string => relay.codes.findLast((code) => code !== '') as string
const mailDown = [503, { error: 'The mail could not be sent. Try again in a few minutes.', code: 'MAIL_UNAVAILABLE' }]

/** Runs work while the relay is down. The breaker of the provider may need a moment afterwards. */
const whileDown = async <T>(work: () => Promise<T>): Promise<T> => {
  relay.down = true
  return work().finally(() => {
    relay.down = false
  })
}

describe('while no mail can be sent', () => {
  const given = (email: string) => ({ email, password: goodPassword, name: 'Ann Lee', org_name: 'Acme' })

  test('registration answers the same for known and unknown addresses, and can be repeated', async () => {
    const { email } = await person()
    await whileDown(async () => {
      const known = await browser().post('/api/auth/register', given(email))
      const unknown = await browser().post('/api/auth/register', given('new@example.com'))
      for (const [address, reply] of [[email, known] as const, ['new@example.com', unknown] as const]) {
        expect(flat(reply)).toEqual([202, { status: 'verification_sent', email: address }])
        expect(reply.headers['set-cookie']).toMatch(/^service_pending=/)
      }
      await settled()
    })
    const ann = browser()
    await expect
      .poll(async () => {
        const { mails } = relay
        await ann.post('/api/auth/register', given('new@example.com'))
        await settled()
        return relay.mails - mails
      })
      .toBe(1)
    const verified = await ann.post('/api/auth/verify-email', { email: 'new@example.com', code: lastCode() })
    expect(verified.body.status).toBe('signed_in')
  })

  test('a right password gets a clear answer and no challenge, and a wrong one still 401', async () => {
    const { email, userId } = await person()
    await whileDown(async () => {
      const log = browser()
      expect(flat(await log.post('/api/auth/login', { email, password: goodPassword }))).toEqual(mailDown)
      expect((await log.post('/api/auth/login', { email, password: 'a wrong password' })).status).toBe(401)
    })
    await settled()
    expect(await t.database.sql('select 1 from login_challenges where user_id = $1', [userId])).toEqual([])
  })

  test('R-56 a link that unlocks sign-in is mailed once mail works again, not an hour later', async () => {
    const { email, userId } = await person()
    const guess = () => browser().post('/api/auth/login', { email, password: 'a wrong password' })
    const links = () => t.database.sql('select 1 from account_unlocks where user_id = $1', [userId])
    await whileDown(async () => {
      for (let i = 0; i < 52; i++) await guess()
      await settled()
    })
    expect(await links()).toEqual([])
    await expect
      .poll(async () => {
        await guess()
        await settled()
        return links()
      })
      .toHaveLength(1)
    await guess()
    await settled()
    expect(await links()).toHaveLength(1)
  })

  test('a resent login code fails clearly, and the former code keeps working', async () => {
    const { email } = await person()
    const ann = browser()
    const login = () => ann.post('/api/auth/login', { email, password: goodPassword })
    await expect.poll(async () => (await login()).status).toBe(200)
    const { body } = await login()
    const code = lastCode()
    const resent = await whileDown(() => ann.post('/api/auth/login/resend', { challenge_id: body.challenge_id }))
    expect(flat(resent)).toEqual(mailDown)
    const done = await ann.post('/api/auth/login/code', { challenge_id: body.challenge_id, code })
    expect(done.body.status).toBe('signed_in')
  })

  test('a forgotten password and a resent verification get their usual answers, and nothing is stored', async () => {
    const { email, userId } = await person()
    await whileDown(async () => {
      expect((await browser().post('/api/auth/forgot-password', { email })).status).toBe(202)
      const resend = { channel: 'email', email }
      expect((await browser().post('/api/auth/resend-verification', resend)).status).toBe(202)
      await settled()
    })
    expect(await t.database.sql('select 1 from password_resets where user_id = $1', [userId])).toEqual([])
  })

  test('a password is changed although its notice cannot be sent', async () => {
    const { userId } = await person()
    const cookie = await signIn(t, userId)
    const body = { current_password: goodPassword, new_password: 'another long password' }
    await whileDown(async () => {
      const reply = await t.ask('POST', '/api/internal/user/password', { headers: { cookie }, body })
      expect(reply.status).toBe(200)
      await settled()
    })
  })
})

test('while no text can be sent, the phone number is not verified and no code is stored', async () => {
  const { userId } = await person()
  const cookie = await signIn(t, userId)
  texting.down = true
  const reply = await t.ask('POST', '/api/auth/verify-phone', { headers: { cookie }, body: { phone: '+14155550123' } })
  texting.down = false
  expect(flat(reply)).toEqual([
    503,
    { error: 'The text message could not be sent. Try again in a few minutes.', code: 'TEXT_UNAVAILABLE' },
  ])
  expect(await t.database.sql('select 1 from account_codes where user_id = $1', [userId])).toEqual([])
})

describe('while the store of the rate limiter is unreachable', () => {
  const throttled = [429, { error: 'Too many attempts. Try again later.', code: 'RATE_LIMITED' }]

  test('failed logins are counted in the database, and the limit still holds', async () => {
    const { email } = await person()
    const one = browser()
    const guess = { challenge_id: 'chl_01m7ekszz4e8brbwp01pb7h1dp', code: '123456' }
    for (let i = 0; i < 100; i += 10) {
      const ten = await Promise.all(Array.from({ length: 10 }, () => one.post('/api/auth/login/code', guess)))
      expect(ten.map(({ status }) => status)).toEqual(Array(10).fill(401))
    }
    const refused = await one.post('/api/auth/login', { email, password: goodPassword })
    expect(flat(refused)).toEqual(throttled)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_000)
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 3_600 } })
    expect((await one.post('/api/auth/login/code', guess)).status).toBe(401)
  })

  test('code checks are counted in the database too, and a right code is refused past the limit', async () => {
    const email = `person@${acme.org.slug}.example.com`
    const one = browser()
    const register = { email, password: goodPassword, name: 'Ann Lee' }
    const { mails } = relay
    await expect
      .poll(async () => {
        await one.post('/api/auth/register', register)
        await settled()
        return relay.mails
      })
      .toBe(mails + 1)
    const code = lastCode()
    for (let i = 0; i < 20; i++) {
      expect((await one.post('/api/auth/verify-email', { email, code: otherThan(code) })).status).toBe(400)
    }
    expect(flat(await one.post('/api/auth/verify-email', { email, code }))).toEqual(throttled)
  })

  test('other limits let the request pass', async () => {
    const { email } = await person()
    for (let i = 0; i < 5; i++) {
      const reply = await browser().post('/api/auth/resend-verification', { channel: 'email', email })
      expect(reply.status).toBe(202)
    }
  })
})
