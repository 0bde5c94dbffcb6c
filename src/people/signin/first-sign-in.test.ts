import { afterAll, expect, test } from 'vitest'
import { entriesAbout, openBrowser } from '../../../test/clients/sign-in-client.ts'
import { startTestService, testService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const tokenFor = async (email: string): Promise<string> => {
  const link = await t.service.people.firstSignIn.makeLink(email)
  return /^\/welcome\?token=([A-Za-z0-9_-]{43})$/.exec(link)?.[1] as string
}
const ownerId = async (email: string): Promise<string> => {
  const [row] = await t.database.sql<{ id: string }>('select id from users where email = $1', [email])
  return row?.id as string
}
const refused = { status: 400, code: 'INVALID_TOKEN' }
const enter = async (token: string) => {
  const browser = openBrowser(t)
  const { status, body } = await browser.post('/api/auth/first-sign-in', { token })
  return { status, code: body.code, body, session: browser.cookie('service_session') }
}

test('The link of the first start opens a session of the owner once, and writes an audit entry', async () => {
  const { org, owner } = await t.org()
  const token = await tokenFor(owner.email)
  const done = await enter(token)
  const id = await ownerId(owner.email)
  expect(done.status).toBe(200)
  expect(done.body).toEqual({
    status: 'signed_in',
    user: { id, email: owner.email, name: 'Owner' },
    active_org_id: org.id,
    redirect_to: '/',
  })
  expect(done.session).toBeDefined()
  const again = await enter(token)
  expect(again).toMatchObject(refused)
  expect(again.session).toBeUndefined()
  const entries = await entriesAbout(t, id)
  expect(entries.map(({ action, metadata }) => [action, metadata])).toEqual([['user.login', { method: 'first_link' }]])
})

test('Two requests with the same link at the same time open one session', async () => {
  const { owner } = await t.org()
  const token = await tokenFor(owner.email)
  const replies = await Promise.all([enter(token), enter(token), enter(token)])
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400])
})

test('A wrong token, a replaced link and a link older than an hour are refused', async () => {
  const { owner } = await t.org()
  const replaced = await tokenFor(owner.email)
  const token = await tokenFor(owner.email)
  expect(await enter('x')).toMatchObject(refused)
  expect(await enter(replaced)).toMatchObject(refused)
  await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 3600 } })
  expect(await enter(token)).toMatchObject(refused)
})

test('The link does not replace a second factor', async () => {
  const { owner } = await t.org()
  const token = await tokenFor(owner.email)
  await t.database.sql('update users set totp_enabled_at = $2 where email = $1', [owner.email, t.service.clock.now()])
  const reply = await enter(token)
  expect(reply).toMatchObject(refused)
  expect(reply.session).toBeUndefined()
})

test('In production no link is made, and none works', async () => {
  const { owner } = await t.org()
  const token = await tokenFor(owner.email)
  const production = await testService({ database: t.database, config: { production: true } })
  await expect(production.service.people.firstSignIn.makeLink(owner.email)).rejects.toThrow('never in production')
  const reply = await production.ask('POST', '/api/auth/first-sign-in', { body: { token } })
  expect([reply.status, reply.body.code]).toEqual([400, 'INVALID_TOKEN'])
})
