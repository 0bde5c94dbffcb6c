import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { trailOf, withTrail } from '../../../test/audit/trail.ts'
import { addMember } from '../../../test/clients/people.ts'
import { mailsTo, person, primaryOwner, tokenOf } from '../../../test/clients/team-client.ts'
import { iso } from '../../../test/expect/instants.ts'
import { startTestService, testService } from '../../../test/service/service.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { newId } from '../../platform/ground/ids.ts'
import { invitationContent } from './manage-invitations.ts'

const t = await startTestService()
afterAll(() => t.stop())

const path = '/api/internal/team/invite'
const accept = '/api/internal/team/accept'
const decline = '/api/internal/team/decline'

let orgId: string
let owner: Awaited<ReturnType<typeof primaryOwner>>

beforeEach(async () => {
  orgId = (await t.org()).org.id
  owner = await primaryOwner(t, orgId)
})

let last = 0
const newAddress = (): string => `bob${++last}@reader.test`
const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })
const day = 86_400

const invite = async (email = newAddress(), role = 'developer') => {
  const reply = await owner.ask('POST', path, { email, role })
  expect(reply.status, reply.text).toBe(201)
  return { id: reply.body.id as string, email, role, token: await tokenOf(t, email) }
}

const rolesOf = (userId: string) =>
  t.database.sql('select role, source from memberships where org_id = $1 and user_id = $2', [orgId, userId])

const notFound = [404, { error: 'Not found' }]
const expired = [410, { error: 'This invitation has expired', code: 'INVITATION_EXPIRED' }]
const mismatch = [403, { error: 'This invitation was sent to another address', code: 'INVITATION_EMAIL_MISMATCH' }]

describe('an invitation', () => {
  test('A-073 A-191 is mailed and recorded with the address, and the token is stored only as a hash', async () => {
    const email = newAddress()
    const { result, trail } = await withTrail(t.database, orgId, () =>
      owner.ask('POST', path, { email: ` ${email.toUpperCase()} `, role: 'developer' }),
    )
    const item = {
      id: expect.stringMatching(/^inv_/),
      email,
      role: 'developer',
      sso_exempt: false,
      status: 'pending',
      invited_by: { id: owner.userId, name: 'Owner' },
      created_at: iso,
      expires_at: iso,
    }
    expect([result.status, result.body]).toEqual([201, item])
    const token = await tokenOf(t, email)
    expect(trail).toMatchObject([
      {
        action: 'member.invited',
        actor_user_id: owner.userId,
        resource_type: 'invitation',
        resource_id: email,
        metadata: { email, role: 'developer', resent: false },
      },
    ])
    const rows = await t.database.sql<object>('select * from invitations where org_id = $1', [orgId])
    expect(rows).toMatchObject([{ email, token_hash: sha256(token), ended_at: null }])
    expect(JSON.stringify([rows, trail, result.body])).not.toContain(token)
    const viewer = await person(t, { orgId, role: 'viewer' })
    const list = await viewer.ask('GET', path)
    expect([list.status, list.body]).toEqual([200, { data: [item], has_more: false, next_cursor: null }])
    const [mail] = await mailsTo(t, email)
    expect(mail).toMatchObject({ to: [email], subject: 'Invitation to Acme' })
    expect(mail?.html).toContain(`href="${t.url}/invite?token=${token}"`)
  })

  test('refuses an invalid address, an unknown role, and a member', async () => {
    const member = await person(t, { orgId, role: 'viewer' })
    const { trail } = await withTrail(t.database, orgId, async () => {
      for (const email of ['x', '', 'Ann <ann@reader.test>', `${'a'.repeat(400)}@reader.test`, 7, null]) {
        const reply = await owner.ask('POST', path, { email, role: 'viewer' })
        expect([reply.status, reply.body.errors[0].path], String(email)).toEqual([422, ['email']])
      }
      const role = await owner.ask('POST', path, { email: newAddress(), role: 'emperor' })
      expect([role.status, role.body.errors[0].path]).toEqual([422, ['role']])
      const already = await owner.ask('POST', path, { email: member.email.toUpperCase(), role: 'owner' })
      expect([already.status, already.body]).toEqual([409, { error: 'Already a member', code: 'ALREADY_MEMBER' }])
    })
    expect(trail).toEqual([])
    expect(await mailsTo(t, member.email)).toEqual([])
    expect((await owner.ask('GET', path)).body.data).toEqual([])
  })

  test('to an address that has one replaces its role and its link under the same id', async () => {
    const first = await invite()
    const { result, trail } = await withTrail(t.database, orgId, () =>
      owner.ask('POST', path, { email: first.email, role: 'viewer' }),
    )
    expect(result.body).toMatchObject({ id: first.id, role: 'viewer', status: 'pending' })
    expect(trail).toMatchObject([{ action: 'member.invited', metadata: { role: 'viewer', resent: true } }])
    expect((await owner.ask('GET', path)).body.data).toHaveLength(1)
    const bob = await person(t, { email: first.email })
    const old = await bob.ask('POST', accept, { token: first.token })
    expect([old.status, old.body]).toEqual(notFound)
    expect((await bob.ask('POST', accept, { token: await tokenOf(t, first.email) })).body.role).toBe('viewer')
  })

  test('A-077 stops working seven days after it was issued, and can then be sent again', async () => {
    const { id, email, token } = await invite()
    const bob = await person(t, { email })
    await advance(7 * day - 60)
    expect((await t.ask('GET', `/api/auth/invitation?token=${token}`)).status).toBe(200)
    await advance(61)
    for (const ask of [() => bob.ask('POST', accept, { token }), () => bob.ask('POST', decline, { token })]) {
      const late = await ask()
      expect([late.status, late.body]).toEqual(expired)
    }
    const shown = await t.ask('GET', `/api/auth/invitation?token=${token}`)
    expect([shown.status, shown.body]).toEqual(expired)
    expect((await owner.ask('GET', path)).body.data).toMatchObject([{ id, status: 'expired' }])
    const { result, trail } = await withTrail(t.database, orgId, () => owner.ask('PATCH', path, { id }))
    expect([result.status, result.body]).toMatchObject([200, { id, role: 'developer', status: 'pending' }])
    expect(trail).toMatchObject([
      { action: 'member.invited', resource_id: email, metadata: { email, role: 'developer', resent: true } },
    ])
    expect((await bob.ask('POST', accept, { token })).status).toBe(404)
    expect((await bob.ask('POST', accept, { token: await tokenOf(t, email) })).status).toBe(200)
  })

  test('that was revoked no longer works and is no longer listed', async () => {
    const { id, email, token } = await invite()
    const { result, trail } = await withTrail(t.database, orgId, () => owner.ask('DELETE', `${path}?id=${id}`))
    expect([result.status, result.body]).toEqual([200, { deleted: true, id }])
    expect(trail).toMatchObject([
      {
        action: 'member.invitation_revoked',
        actor_user_id: owner.userId,
        resource_type: 'invitation',
        resource_id: id,
        metadata: { email, role: 'developer' },
      },
    ])
    const bob = await person(t, { email })
    expect((await bob.ask('POST', accept, { token })).status).toBe(404)
    expect((await owner.ask('GET', path)).body.data).toEqual([])
    for (const ask of [owner.ask('DELETE', `${path}?id=${id}`), owner.ask('PATCH', path, { id })]) {
      const { status, body } = await ask
      expect([status, body]).toEqual(notFound)
    }
    const other = await primaryOwner(t, (await t.org()).org.id)
    const open = await invite()
    expect((await other.ask('DELETE', `${path}?id=${open.id}`)).status).toBe(404)
    expect((await other.ask('PATCH', path, { id: open.id })).status).toBe(404)
    expect((await owner.ask('GET', path)).body.data).toHaveLength(1)
  })

  test('is limited to fifty an hour for each org, those sent again included', async () => {
    for (let i = 0; i < 49; i++) await invite()
    const { id } = await invite()
    const email = newAddress()
    for (const ask of [
      () => owner.ask('POST', path, { email, role: 'viewer' }),
      () => owner.ask('PATCH', path, { id }),
    ]) {
      const reply = await ask()
      expect([reply.status, reply.body]).toEqual([
        429,
        { error: 'Too many invitations. Try again later.', code: 'RATE_LIMITED' },
      ])
      expect(Number(reply.headers['retry-after'])).toBeGreaterThan(3_000)
    }
    expect(await mailsTo(t, email)).toEqual([])
    const other = await primaryOwner(t, (await t.org()).org.id)
    expect((await other.ask('POST', path, { email, role: 'viewer' })).status).toBe(201)
    await advance(3_600)
    expect((await owner.ask('PATCH', path, { id })).status).toBe(200)
  })

  test('is deleted ninety days after it expired', async () => {
    await invite()
    await advance(90 * day)
    const task = async () => (await t.service.tasks.retention?.run())?.invitations_deleted
    const rows = () => t.database.sql('select id from invitations where org_id = $1', [orgId])
    await task()
    expect(await rows()).toHaveLength(1)
    await advance(8 * day)
    expect(await task()).toBeGreaterThan(0)
    expect(await rows()).toEqual([])
  })
})

describe('the invited person', () => {
  test('A-076 A-192 joins with the role of the invitation, and the joined org becomes the active one', async () => {
    const { email, token } = await invite()
    const bob = await person(t, { email })
    const { result, trail } = await withTrail(t.database, orgId, () => bob.ask('POST', accept, { token }))
    expect([result.status, result.body]).toEqual([200, { org_id: orgId, org_name: 'Acme', role: 'developer' }])
    expect(result.headers['set-cookie']).toBe(
      `service_active_org=${orgId}; Max-Age=31536000; Path=/; HttpOnly; SameSite=Lax`,
    )
    expect(await rolesOf(bob.userId)).toEqual([{ role: 'developer', source: 'invitation' }])
    expect(trail).toMatchObject([
      {
        action: 'member.joined',
        actor_user_id: bob.userId,
        resource_type: 'membership',
        resource_id: expect.stringMatching(/^mem_/),
        metadata: { role: 'developer', via: 'invitation' },
      },
    ])
    expect((await bob.ask('GET', '/api/internal/org')).body).toMatchObject({ id: orgId, role: 'developer' })
    expect((await owner.ask('GET', path)).body.data).toEqual([])
    const again = await bob.ask('POST', accept, { token })
    expect([again.status, again.body]).toEqual(notFound)
  })

  test('must have the invited address, and must have verified it', async () => {
    const { email, token } = await invite()
    const eve = await person(t)
    const bob = await person(t, { email })
    await t.database.sql('update users set email_verified_at = null where id = $1', [bob.userId])
    const { trail } = await withTrail(t.database, orgId, async () => {
      for (const asking of [eve, bob]) {
        for (const answer of [accept, decline]) {
          const reply = await asking.ask('POST', answer, { token })
          expect([reply.status, reply.body]).toEqual(mismatch)
          expect(reply.headers['set-cookie']).toBeUndefined()
        }
      }
      for (const wrong of ['', 'x', 'A'.repeat(43), `${token}x`, newId('invitation')]) {
        const reply = await eve.ask('POST', accept, { token: wrong })
        expect([reply.status, reply.body], wrong).toEqual(notFound)
      }
      expect((await eve.ask('POST', accept, { token: 'x'.repeat(201) })).status).toBe(422)
    })
    expect(trail).toEqual([])
    expect([...(await rolesOf(eve.userId)), ...(await rolesOf(bob.userId))]).toEqual([])
    await t.database.sql('update users set email_verified_at = created_at where id = $1', [bob.userId])
    expect((await bob.ask('POST', accept, { token })).status).toBe(200)
  })

  test('who is a member already keeps their role, and the invitation stays', async () => {
    const { email, token } = await invite(newAddress(), 'owner')
    const bob = await person(t, { email })
    await addMember(t, orgId, bob.userId, 'viewer')
    const reply = await bob.ask('POST', accept, { token })
    expect([reply.status, reply.body]).toEqual([409, { error: 'Already a member', code: 'ALREADY_MEMBER' }])
    expect(await rolesOf(bob.userId)).toEqual([{ role: 'viewer', source: 'created' }])
    expect((await owner.ask('GET', path)).body.data).toHaveLength(1)
  })

  test('can decline, which ends the invitation', async () => {
    const { id, email, token } = await invite()
    const bob = await person(t, { email })
    const { result, trail } = await withTrail(t.database, orgId, () => bob.ask('POST', decline, { token }))
    expect([result.status, result.body]).toEqual([200, { declined: true, id }])
    expect(trail).toMatchObject([
      {
        action: 'member.invitation_revoked',
        actor_user_id: bob.userId,
        metadata: { email, role: 'developer', declined: true },
      },
    ])
    expect((await bob.ask('POST', accept, { token })).status).toBe(404)
    expect(await rolesOf(bob.userId)).toEqual([])
  })

  test('sees who invites them without a session', async () => {
    const { email, token } = await invite()
    const shown = {
      org_name: 'Acme',
      email,
      role: 'developer',
      invited_by: 'Owner',
      expires_at: iso,
      account_exists: false,
    }
    const read = () => t.ask('GET', `/api/auth/invitation?token=${token}`)
    expect((await read()).body).toEqual(shown)
    const bob = await person(t, { email })
    expect((await read()).body).toEqual({ ...shown, account_exists: true })
    await bob.ask('POST', accept, { token })
    const used = await read()
    expect([used.status, used.body]).toEqual(notFound)
    expect((await t.ask('GET', '/api/auth/invitation')).status).toBe(422)
  })

  test('loses the sessions that a stricter org does not allow', async () => {
    const { email, token } = await invite()
    const bob = await person(t, { email })
    for (let i = 0; i < 3; i++) {
      await t.service.sessions.open(bob.userId, { method: 'credentials', ip: null, userAgent: 'test' })
    }
    const sessions = () => t.database.sql('select id from sessions where user_id = $1 order by id', [bob.userId])
    const before = await sessions()
    await t.database.sql('update orgs set max_sessions_per_user = 2 where id = $1', [orgId])
    expect((await bob.ask('POST', accept, { token })).status).toBe(200)
    expect(await sessions()).toEqual(before.slice(-2))
  })
})

test('A-192 two hundred concurrent accepts of one invitation make one membership', async () => {
  const { email, token } = await invite()
  const bob = await person(t, { email })
  const replies = await Promise.all(Array.from({ length: 200 }, () => bob.ask('POST', accept, { token })))
  const statuses = replies.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(statuses.filter((status) => status === 404)).toHaveLength(199)
  expect(await rolesOf(bob.userId)).toHaveLength(1)
  const actions = (await trailOf(t.database, orgId)).map(({ action }) => action)
  expect(actions).toEqual(['member.invited', 'member.joined'])
})

test('an accept and a revocation at once leave either a member or a revoked invitation', async () => {
  for (let round = 0; round < 10; round++) {
    const { id, email, token } = await invite()
    const bob = await person(t, { email })
    const [accepted, revoked] = await Promise.all([
      bob.ask('POST', accept, { token }),
      owner.ask('DELETE', `${path}?id=${id}`),
    ])
    expect([accepted.status, revoked.status].sort()).toEqual([200, 404])
    expect(await rolesOf(bob.userId)).toHaveLength(accepted.status === 200 ? 1 : 0)
  }
})

test('while mail cannot be sent, nobody is invited and an earlier link keeps working', async () => {
  const down = await testService({
    env: { EMAIL_PROVIDER: 'smtp', SMTP_URL: 'smtp://127.0.0.1:1' },
    database: t.database,
  })
  const { id, email, token } = await invite()
  const { trail } = await withTrail(t.database, orgId, async () => {
    for (const [method, body] of [
      ['POST', { email: newAddress(), role: 'viewer' }],
      ['POST', { email, role: 'owner' }],
      ['PATCH', { id }],
    ] as const) {
      const reply = await down.ask(method, path, { body, headers: { cookie: owner.cookie } })
      expect([reply.status, reply.body]).toEqual([
        503,
        { error: 'The mail could not be sent. Try again in a few minutes.', code: 'MAIL_UNAVAILABLE' },
      ])
    }
  })
  expect(trail).toEqual([])
  expect((await owner.ask('GET', path)).body.data).toMatchObject([{ id, role: 'developer' }])
  const bob = await person(t, { email })
  expect((await bob.ask('POST', accept, { token })).body.role).toBe('developer')
})

test('names in the mail are text: they add neither markup nor headers', () => {
  const { subject, text, html } = invitationContent('https://tidings.example', {
    orgId,
    to: 'bob@reader.test',
    orgName: 'A\r\nBcc: x <b>&',
    inviterName: '<script>"Ann"',
    role: 'viewer',
    token: 'T',
    expiresAt: new Date('2026-09-08T12:00:00Z'),
  })
  expect(subject).toBe('Invitation to A Bcc: x <b>&')
  expect(text).toBe(`<script>"Ann" invites you to join A Bcc: x <b>& as viewer.

Open the invitation:
https://tidings.example/invite?token=T

The link works until Tue, 08 Sep 2026 12:00:00 GMT, for bob@reader.test only. If you do not know the sender, ignore this mail.
`)
  expect(html).not.toMatch(/<script|<b>/)
  expect(html).toContain('&#60;script&#62;&#34;Ann&#34; invites you to join A Bcc: x &#60;b&#62;&#38; as viewer.')
})
