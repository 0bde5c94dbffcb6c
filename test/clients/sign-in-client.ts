/** A browser that registers and signs in, and the mailbox that it reads codes from. */
import type { Ask, Reply, TestService } from '../service/service.ts'

export type OutboxMail = { to: string[]; subject: string; text: string; html: string; from: string }

/** The mails to an address, newest first. */
export const mailsTo = async (t: TestService, to: string, channel = 'email'): Promise<OutboxMail[]> => {
  await t.service.modules.outbox.flushed()
  const { body } = await t.ask('GET', `/api/dev/outbox?channel=${channel}&to=${encodeURIComponent(to)}`)
  return body.data
}

/** The code in the newest mail to an address. */
export const mailedCode = async (t: TestService, to: string): Promise<string> => {
  const [mail] = await mailsTo(t, to)
  return /^ {4}(\d{6})$/m.exec(mail?.text ?? '')?.[1] as string
}

/** Another code of six digits. */
export const otherThan = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

export type Browser = {
  ask(method: string, path: string, more?: Ask): Promise<Reply>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
  cookie(name: string): string | undefined
  setCookie(name: string, value: string): void
}

/** Keeps the cookies that it gets, like a browser. */
export const openBrowser = (t: TestService, address = '198.51.100.1'): Browser => {
  const jar = new Map<string, string>()
  const ask: Browser['ask'] = async (method, path, more = {}) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { 'x-forwarded-for': address, 'user-agent': 'Test browser', ...(cookie && { cookie }) }
    const reply = await t.ask(method, path, { ...more, headers: { ...headers, ...more.headers } })
    for (const line of [reply.headers['set-cookie'] ?? []].flat()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) as unknown as [string, string, string]
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return reply
  }
  return {
    ask,
    post: (path, body, headers) =>
      ask('POST', path, { ...(body !== undefined && { body }), ...(headers && { headers }) }),
    cookie: (name) => jar.get(name),
    setCookie: (name, value) => jar.set(name, value),
  }
}

export const goodPassword = 'correct horse battery'

/** Registers and verifies an address. The browser is then signed in. */
export const registerPerson = async (t: TestService, browser: Browser, email: string): Promise<Reply> => {
  const given = { email, password: goodPassword, name: 'Ann Lee', org_name: 'Acme' }
  const registered = await browser.post('/api/auth/register', given)
  if (registered.status !== 202) return registered
  return browser.post('/api/auth/verify-email', { email, code: await mailedCode(t, email) })
}

/** The first step of sign-in. Returns the challenge and the mailed code. */
export const startLogin = async (t: TestService, browser: Browser, email: string, password = goodPassword) => {
  const reply = await browser.post('/api/auth/login', { email, password })
  const code = reply.status === 200 ? await mailedCode(t, email) : ''
  return { reply, challenge_id: reply.body?.challenge_id as string, code }
}

/** Password and mailed code. */
export const logInPerson = async (t: TestService, browser: Browser, email: string, password = goodPassword) => {
  const { challenge_id, code } = await startLogin(t, browser, email, password)
  return browser.post('/api/auth/login/code', { challenge_id, code })
}

type Entry = {
  action: string
  actor_user_id: string | null
  metadata: unknown
  org_id: string
  resource_id: string | null
}

/** The audit entries of an account: what it did, and failed logins on it. Oldest first. */
export const entriesAbout = (t: TestService, userId: string): Promise<Entry[]> =>
  t.database.sql<Entry>(
    `select action, actor_user_id, metadata, org_id, resource_id from audit_entries
     where actor_user_id = $1 or resource_id = $1
     order by created_at, id`,
    [userId],
  )
