import { afterAll, describe, expect, test } from 'vitest'
import { addPerson } from '../../../test/clients/people.ts'
import {
  type Browser,
  goodPassword,
  logInPerson,
  mailedCode,
  mailsTo,
  openBrowser,
} from '../../../test/clients/sign-in-client.ts'
import { cheapHash } from '../../../test/service/cheap-password.ts'
import { type Reply, startTestService, type TestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await t.org()
const passwordHash = await cheapHash(goodPassword)
const person = () => addPerson(t, { orgId: acme.org.id, role: 'developer', passwordHash })

let addresses = 0
const browser = (on: TestService = t): Browser => openBrowser(on, `2001:db8:${(++addresses).toString(16)}::1`)
const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })
const settled = () => t.service.people.background.drained()
const flat = ({ status, body }: Reply) => [status, body]
const unlockMails = async (email: string) => {
  await settled()
  return (await mailsTo(t, email)).filter(({ subject }) => subject === 'Unlock your account')
}
const linkIn = (text: string | undefined): string => /\/unlock\?token=([\w-]+)/.exec(text ?? '')?.[1] as string

const blocked = [
  429,
  {
    error:
      'Too many wrong passwords for this address. If it has an account, a link was mailed to it that lets you sign in. A browser that you have signed in with before still works.',
    code: 'UNLOCK_REQUIRED',
  },
]

const logIn = (from: Browser, email: string, password = goodPassword) =>
  from.post('/api/auth/login', { email, password })

/** Wrong passwords, each from another network. */
const guess = async (email: string, count: number): Promise<number[]> => {
  const replies = await Promise.all(Array.from({ length: count }, () => logIn(browser(), email, 'a wrong password')))
  return replies.map(({ status }) => status)
}

describe('R-56 guessing a password', () => {
  test('from many networks ends after 50 wrong ones in an hour, for known and unknown addresses alike', async () => {
    const { email } = await person()
    const shapes: unknown[] = []
    for (const address of [email, 'nobody@example.com']) {
      const statuses = await guess(address, 60)
      expect([401, 429].map((status) => statuses.filter((one) => one === status).length)).toEqual([50, 10])
      const replies = [await logIn(browser(), address), await logIn(browser(), address, 'a wrong password')]
      for (const reply of replies) {
        expect(flat(reply)).toEqual(blocked)
        expect(Number(reply.headers['retry-after'])).toBeGreaterThan(3_500)
        shapes.push(Object.keys(reply.headers).sort())
      }
    }
    for (const shape of shapes) expect(shape).toEqual(shapes[0])
    expect(await mailedCode(t, email)).toBeUndefined()
    expect((await logIn(browser(), (await person()).email)).status).toBe(200)
    await advance(3_600)
    expect((await logIn(browser(), email)).status).toBe(200)
  })

  test('right passwords do not count', async () => {
    const { email } = await person()
    await guess(email, 49)
    for (let i = 0; i < 3; i++) expect((await logIn(browser(), email)).status).toBe(200)
    expect(await guess(email, 1)).toEqual([401])
    expect(flat(await logIn(browser(), email))).toEqual(blocked)
  })

  test('never locks out a browser that has signed in to the account before', async () => {
    const { email } = await person()
    const other = await person()
    const [own, foreign] = [browser(), browser()]
    await logInPerson(t, own, email)
    // Another account in the same browser leaves it known to the first.
    await logInPerson(t, own, other.email)
    await logInPerson(t, foreign, other.email)
    await own.post('/api/auth/logout')
    await guess(email, 51)
    expect(flat(await logIn(foreign, email))).toEqual(blocked)
    expect((await logInPerson(t, own, email)).status).toBe(200)

    const tampered = browser()
    const device = own.cookie('service_device') as string
    expect(device).toMatch(/^[\w.~-]+$/)
    for (const [i, value] of device.split('~').entries()) {
      const moved = browser()
      moved.setCookie('service_device', value)
      expect((await logIn(moved, email)).status, `entry ${i}`).toBe(i === 0 ? 200 : 429)
    }
    tampered.setCookie(
      'service_device',
      device
        .split('~')
        .map((value) => `${value.startsWith('x') ? 'y' : 'x'}${value.slice(1)}`)
        .join('~'),
    )
    expect(flat(await logIn(tampered, email))).toEqual(blocked)
  })

  test('with the cookie of a known browser ends after 50 wrong ones too', async () => {
    const { email } = await person()
    const own = browser()
    await logInPerson(t, own, email)
    const device = own.cookie('service_device') as string
    const stolen = () => {
      const one = browser()
      one.setCookie('service_device', device)
      return one
    }
    const replies = await Promise.all(Array.from({ length: 55 }, () => logIn(stolen(), email, 'a wrong password')))
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(50)
    expect(flat(await logIn(stolen(), email))).toEqual(blocked)
    // Others have their own count.
    expect((await logIn(browser(), email)).status).toBe(200)
  })

  test('is counted across processes and restarts', async () => {
    const { email } = await person()
    await guess(email, 50)
    const second = await startTestService({ database: t.database })
    try {
      expect(flat(await logIn(browser(second), email))).toEqual(blocked)
    } finally {
      await second.stop()
    }
  })

  test('by strangers does not stop the owner from proving the password while signed in', async () => {
    const { email } = await person()
    const own = browser()
    await logInPerson(t, own, email)
    await guess(email, 51)
    const change = (current: string, next: string) =>
      own.post('/api/internal/user/password', { current_password: current, new_password: next })
    expect((await change('a wrong password', 'another good one')).status).toBe(403)
    expect((await change(goodPassword, 'another good one')).status).toBe(200)
  })

  test('in a session ends after 50 wrong ones from all addresses', async () => {
    const { email } = await person()
    const own = browser()
    await logInPerson(t, own, email)
    const session = own.cookie('service_session') as string
    const thief = () => {
      const one = browser()
      one.setCookie('service_session', session)
      return one
    }
    const wrong = { current_password: 'a wrong password', new_password: 'another good one' }
    for (let i = 0; i < 50; i += 10) {
      const ten = Array.from({ length: 10 }, () => thief().post('/api/internal/user/password', wrong))
      expect((await Promise.all(ten)).map(({ status }) => status)).toEqual(Array(10).fill(403))
    }
    const given = { current_password: goodPassword, new_password: 'another good one' }
    expect(flat(await thief().post('/api/internal/user/password', given))).toEqual([
      429,
      { error: 'Too many attempts. Try again later.', code: 'RATE_LIMITED' },
    ])
    const deletion = await thief().ask('DELETE', '/api/internal/user', { body: { password: goodPassword } })
    expect(deletion.status).toBe(429)
    expect((await logIn(browser(), email)).status).toBe(200)
  })
})

describe('R-56 the link that unlocks sign-in', () => {
  const lockedOut = async () => {
    const { email, userId } = await person()
    await guess(email, 51)
    return { email, userId }
  }
  const unlock = (from: Browser, token: string) => from.post('/api/auth/unlock', { token })
  const invalid = [400, { error: 'This link is invalid or has expired', code: 'INVALID_TOKEN' }]

  test('is mailed once an hour, and lets the browser that follows it sign in', async () => {
    const { email } = await lockedOut()
    await guess(email, 5)
    const [mail, ...more] = await unlockMails(email)
    expect(more).toEqual([])
    const token = linkIn(mail?.text)
    const own = browser()
    expect((await own.ask('GET', `/unlock?token=${token}`)).headers['set-cookie']).toBeUndefined()
    expect(flat(await logIn(own, email))).toEqual(blocked)
    expect(flat(await unlock(own, token))).toEqual([200, { status: 'unlocked', redirect_to: '/login' }])
    expect((await logInPerson(t, own, email)).status).toBe(200)
    expect(flat(await logIn(browser(), email))).toEqual(blocked)
    expect(flat(await unlock(browser(), token))).toEqual(invalid)
    // The next link comes at once, because the former one was used.
    expect(await unlockMails(email)).toHaveLength(2)
  })

  test('comes again after an hour, ends after two, and is not stored', async () => {
    const { email, userId } = await lockedOut()
    const [first] = await unlockMails(email)
    await advance(3_600)
    await guess(email, 51)
    const [second, ...others] = await unlockMails(email)
    expect(others).toHaveLength(1)
    await advance(3_000)
    const rows = await t.database.sql('select token_hash::text, user_id from account_unlocks where user_id = $1', [
      userId,
    ])
    expect(rows).toHaveLength(2)
    expect(JSON.stringify(rows)).not.toContain(linkIn(second?.text))
    expect((await unlock(browser(), linkIn(first?.text))).status).toBe(200)
    await advance(4_200)
    expect(flat(await unlock(browser(), linkIn(second?.text)))).toEqual(invalid)
    expect(flat(await unlock(browser(), 'nonsense'))).toEqual(invalid)
  })

  test('is not mailed to addresses without a password', async () => {
    const bare = await addPerson(t, { orgId: acme.org.id })
    for (const email of [bare.email, 'stranger@example.com']) {
      await guess(email, 51)
      expect(await unlockMails(email)).toEqual([])
    }
  })

  test('is not needed after a password reset, which makes the browser known', async () => {
    const { email } = await lockedOut()
    const own = browser()
    await own.post('/api/auth/forgot-password', { email })
    await settled()
    const mails = await mailsTo(t, email)
    const token = /reset-password\?token=([\w-]+)/.exec(mails.map(({ text }) => text).join())?.[1]
    expect((await own.post('/api/auth/reset-password', { token, password: 'another good one' })).status).toBe(200)
    expect((await logInPerson(t, own, email, 'another good one')).status).toBe(200)
  })
})
