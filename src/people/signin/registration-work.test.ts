import pg from 'pg'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { addPerson } from '../../../test/clients/people.ts'
import { goodPassword, mailsTo, openBrowser } from '../../../test/clients/sign-in-client.ts'
import { cheapHash } from '../../../test/service/cheap-password.ts'
import { startTestService } from '../../../test/service/service.ts'

const hashPassword = vi.fn(cheapHash)
const t = await startTestService({ hashPassword })
afterAll(() => t.stop())
afterEach(() => vi.restoreAllMocks())

let addresses = 0
const register = (email: string, more = {}) =>
  openBrowser(t, `2001:db8:41::${(++addresses).toString(16)}`).post('/api/auth/register', {
    email,
    password: goodPassword,
    name: 'Ann Lee',
    ...more,
  })

/** The worker asks for due work all the time. */
const ofRegistration = /^(?:begin|commit|signin|accounts|orgs|projects|team|audit)\b/i

type Query = { name?: string; text?: string } | string
const nameOf = (query: Query): string => (typeof query === 'string' ? query : (query.name ?? query.text ?? ''))

/** Registers, and holds back what runs after the response. Returns what was done before it. */
const workOf = async (email: string, more = {}) => {
  const later: { name: string; work: () => Promise<unknown> }[] = []
  vi.spyOn(t.service.people.background, 'run').mockImplementation((name, work) => void later.push({ name, work }))
  hashPassword.mockClear()
  const query = vi.spyOn(pg.Client.prototype, 'query')
  const { status, headers } = await register(email, more)
  const statements = query.mock.calls
    .map(([first]) => nameOf(first as Query))
    .filter((name) => ofRegistration.test(name))
  const hashed = hashPassword.mock.calls.length
  vi.restoreAllMocks()
  const mailed = (await mailsTo(t, email)).length
  const visible = {
    status,
    headers: Object.keys(headers).sort(),
    hashed,
    statements,
    later: later.map((one) => one.name),
  }
  return { visible, mailed, finish: () => Promise.all(later.map(({ work }) => work())) }
}

test('a known and an unknown address cost the same hashes and statements before the response', async () => {
  const { email: verified } = await addPerson(t)
  const unverified = 'unverified@example.com'
  await register(unverified)
  const before = (await mailsTo(t, unverified)).length
  const known = await workOf(verified)
  const unknown = await workOf('unknown@example.com')
  const again = await workOf(unverified)
  const invited = await workOf('invited@example.com', { invite_token: 'x' })
  expect(unknown.visible).toEqual({
    status: 202,
    headers: expect.arrayContaining(['set-cookie']),
    hashed: 1,
    statements: ['signin.find_account_by_email'],
    later: ['registration'],
  })
  for (const other of [known, again, invited]) expect(other.visible).toEqual(unknown.visible)
  // No mail was handed over before the response either.
  expect([known.mailed, unknown.mailed, again.mailed - before]).toEqual([0, 0, 0])
  for (const { finish } of [known, unknown, again]) await finish()
  const subjects = async (email: string) => (await mailsTo(t, email)).map(({ subject }) => subject)
  expect(await subjects(verified)).toEqual(['You already have an account'])
  expect(await subjects('unknown@example.com')).toEqual(['Verify your email address'])
  expect((await subjects(unverified)).length).toBe(before + 1)
})

test('two registrations of an address at the same time make one account, and each gets its mail', async () => {
  const email = 'twice@example.com'
  const replies = await Promise.all([register(email), register(email)])
  expect(replies.map(({ status }) => status)).toEqual([202, 202])
  expect((await mailsTo(t, email)).map(({ subject }) => subject)).toEqual(Array(2).fill('Verify your email address'))
  expect(await t.database.sql('select count(*)::int as n from users where email = $1', [email])).toEqual([{ n: 1 }])
})
