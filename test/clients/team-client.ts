/** Calls the team routes of the dashboard as a signed-in person. */
import type { Ask, Reply, TestService } from '../service/service.ts'
import { addPerson, askWith, type Person, signIn } from './people.ts'

export type Member = Person & {
  membershipId: string
  cookie: string
  ask(method: string, path: string, body?: unknown, more?: Ask): Promise<Reply>
}

/** A person who is signed in. `membershipId` is empty without an org. */
export const person = async (
  t: TestService,
  options: { orgId?: string | null; role?: string; email?: string; passwordHash?: string } = {},
): Promise<Member> => {
  const added = await addPerson(t, options)
  const cookie = await signIn(t, added.userId)
  const [membership] = await t.database.sql<{ id: string }>('select id from memberships where user_id = $1', [
    added.userId,
  ])
  return {
    ...added,
    membershipId: membership?.id ?? '',
    cookie,
    ask: (method, path, body, more) =>
      askWith(t, cookie, method, path, { ...(body !== undefined && { body }), ...more }),
  }
}

/** The owner pointer's user of an org, signed in. */
export const primaryOwner = async (t: TestService, orgId: string): Promise<Member> => {
  const [row] = await t.database.sql<{ user_id: string; email: string; membership_id: string }>(
    `select u.id as user_id, u.email, m.id as membership_id
     from orgs o join users u on u.id = o.owner_user_id join memberships m on m.org_id = o.id and m.user_id = u.id
     where o.id = $1`,
    [orgId],
  )
  if (!row) throw new Error(`${orgId} has no owner`)
  const cookie = await signIn(t, row.user_id)
  return {
    userId: row.user_id,
    email: row.email,
    membershipId: row.membership_id,
    cookie,
    ask: (method, path, body, more) =>
      askWith(t, cookie, method, path, { ...(body !== undefined && { body }), ...more }),
  }
}

type Sent = { to: string[]; subject: string; text: string; html: string }

/** The newest mails to an address. */
export const mailsTo = async (t: TestService, address: string): Promise<Sent[]> => {
  const reply = await t.ask('GET', `/api/dev/outbox?channel=email&to=${encodeURIComponent(address)}`)
  return reply.body.data
}

/** The token in the newest invitation to an address. */
export const tokenOf = async (t: TestService, address: string): Promise<string> => {
  const [mail] = await mailsTo(t, address)
  const token = /\/invite\?token=([A-Za-z0-9_-]{43})\n/.exec(mail?.text ?? '')?.[1]
  if (!token) throw new Error(`no invitation was mailed to ${address}`)
  return token
}
