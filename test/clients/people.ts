/** People with accounts, memberships and sessions, inserted directly into the database. */
import { newId } from '../../src/platform/ground/ids.ts'
import type { Ask, Reply, TestService } from '../service/service.ts'

export type Person = { userId: string; email: string }

export type NewPerson = { email?: string; orgId?: string | null; role?: string; passwordHash?: string | null }

export const addMember = async (t: TestService, orgId: string, userId: string, role: string): Promise<string> => {
  const id = newId('membership')
  await t.database.sql('insert into memberships (org_id, id, user_id, role, created_at) values ($1, $2, $3, $4, $5)', [
    orgId,
    id,
    userId,
    role,
    t.service.clock.now(),
  ])
  return id
}

/** A verified account. With an org, the user is its member and it is their default org. */
export const addPerson = async (t: TestService, options: NewPerson = {}): Promise<Person> => {
  const { orgId = null, role = 'owner', passwordHash = null } = options
  const userId = newId('user')
  const email = options.email ?? `${userId}@example.test`
  await t.database.sql(
    `insert into users (id, email, name, password_hash, email_verified_at, default_org_id, created_at, updated_at)
     values ($1, $2, 'Ann Lee', $3, $4, $5, $4, $4)`,
    [userId, email, passwordHash, t.service.clock.now(), orgId],
  )
  if (orgId !== null) await addMember(t, orgId, userId, role)
  return { userId, email }
}

/** The cookie header of a new session. */
export const signIn = async (t: TestService, userId: string): Promise<string> => {
  const token = await t.service.sessions.open(userId, { method: 'credentials', ip: null, userAgent: 'test' })
  return `service_session=${token}`
}

/** The cookie header of a new member of the org. */
export const memberCookie = async (t: TestService, orgId: string, role: string): Promise<string> =>
  signIn(t, (await addPerson(t, { orgId, role })).userId)

/** What the dashboard sends with every request, and no link or picture can. */
export const ofDashboard = { 'sec-fetch-site': 'same-origin', 'x-requested-with': 'dashboard' }

/** A request of the dashboard with a cookie header. */
export const askWith = (t: TestService, cookie: string, method: string, path: string, more: Ask = {}): Promise<Reply> =>
  t.ask(method, path, { ...more, headers: { cookie, ...ofDashboard, ...more.headers } })
