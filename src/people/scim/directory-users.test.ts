import { afterAll, describe, expect, it } from 'vitest'
import { trailOf, withTrail } from '../../../test/audit/trail.ts'
import {
  directory,
  freshAddress,
  groupBody,
  membersOf,
  patchBody,
  scimError,
  userBody,
  verifiedDomains,
} from '../../../test/clients/directory-client.ts'
import { addPerson } from '../../../test/clients/people.ts'
import { person } from '../../../test/clients/team-client.ts'
import { iso as instant } from '../../../test/expect/instants.ts'
import { startTestService } from '../../../test/service/service.ts'
import { hashPassword } from '../../customers/accounts/passwords.ts'
import { newId } from '../../platform/ground/ids.ts'

const ended: { actor: string; orgId: string; userId: string }[] = []
const t = await startTestService({
  ...verifiedDomains,
  endMemberWork: [async (_tx, actor, member) => ended.push({ actor: actor.kind, ...member })],
})
afterAll(() => t.stop())

const userWith = async (email: string) =>
  (
    await t.database.sql<{ id: string; name: string; password_hash: string | null; verified: boolean }>(
      'select id, name, password_hash, email_verified_at is not null as verified from users where email = $1',
      [email],
    )
  )[0]

describe('creating a user', () => {
  it('A-337 AD-141 AD-144 makes an account without a password and a viewer whose source is scim', async () => {
    const acme = await directory(t)
    const userName = freshAddress()
    const given = userBody(userName, {
      externalId: '00u1',
      name: { givenName: 'Bob', familyName: 'Roe' },
      displayName: 'Bob Roe',
      emails: [{ value: userName, primary: true, type: 'work' }],
      active: true,
    })
    const { result, trail } = await withTrail(t.database, acme.orgId, () => acme.ask('POST', '/Users', given))
    const { id } = result.body
    const location = `${t.url}/scim/v2/Users/${id}`
    expect([result.status, result.body]).toEqual([
      201,
      {
        schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
        id: expect.stringMatching(/^mem_/),
        externalId: '00u1',
        userName,
        name: { givenName: 'Bob', familyName: 'Roe' },
        displayName: 'Bob Roe',
        emails: [{ value: userName, primary: true }],
        active: true,
        groups: [],
        meta: {
          resourceType: 'User',
          created: instant,
          lastModified: instant,
          location,
          version: expect.stringMatching(/^W\/"[0-9a-f]{16}"$/),
        },
      },
    ])
    expect([result.headers['content-type'], result.headers.location, result.headers.etag]).toEqual([
      'application/scim+json; charset=utf-8',
      location,
      result.body.meta.version,
    ])
    expect((await membersOf(t, acme.orgId))[userName]).toBe('viewer scim')
    expect(await userWith(userName)).toMatchObject({ name: 'Bob Roe', password_hash: null, verified: true })
    expect(trail).toMatchObject([
      {
        action: 'member.joined',
        actor_user_id: null,
        resource_type: 'membership',
        resource_id: id,
        metadata: { role: 'viewer', via: 'scim' },
        ip_address: '127.0.0.1',
      },
    ])
  })

  it('AD-141 links the account that the address has, and leaves it as it is', async () => {
    const acme = await directory(t)
    const userName = freshAddress()
    const passwordHash = await hashPassword('correct horse battery')
    const known = await addPerson(t, { email: userName, passwordHash })
    const reply = await acme.ask('POST', '/Users', userBody(userName.toUpperCase(), { displayName: 'Other' }))
    expect([reply.status, reply.body.userName, reply.body.emails]).toEqual([
      201,
      userName.toUpperCase(),
      [{ value: userName, primary: true }],
    ])
    expect(await userWith(userName)).toEqual({
      id: known.userId,
      name: 'Ann Lee',
      password_hash: passwordHash,
      verified: true,
    })
  })

  it('AD-141 takes an account that was never verified from the person who registered it', async () => {
    const acme = await directory(t)
    const userName = freshAddress()
    const { userId } = await addPerson(t, { email: userName, passwordHash: await hashPassword('a guess of a thief') })
    await t.database.sql('update users set email_verified_at = null where id = $1', [userId])
    expect((await acme.ask('POST', '/Users', userBody(userName))).status).toBe(201)
    expect(await userWith(userName)).toMatchObject({ id: userId, password_hash: null, verified: true })
  })

  it('AD-141 refuses an address outside the verified domains, and what is no address', async () => {
    const acme = await directory(t)
    for (const userName of ['bob@elsewhere.test', 'bob', 'Bob <bob@corp.test>', '', ' ', 7, null, ['x'], undefined]) {
      const { result, trail } = await withTrail(t.database, acme.orgId, () =>
        acme.ask('POST', '/Users', { ...userBody('x'), userName }),
      )
      expect([result.status, result.body, trail], String(userName)).toEqual([400, scimError(400, 'invalidValue'), []])
    }
    expect(Object.keys(await membersOf(t, acme.orgId))).toHaveLength(1)
    expect(await userWith('bob@elsewhere.test')).toBeUndefined()
  })

  it('AD-140 refuses a user who exists in either case, as a member or as a deactivated user', async () => {
    const acme = await directory(t)
    const member = await person(t, { orgId: acme.orgId, role: 'member', email: freshAddress() })
    const userName = freshAddress()
    const { id } = (await acme.ask('POST', '/Users', userBody(userName))).body
    await acme.ask('PATCH', `/Users/${id}`, patchBody({ op: 'replace', path: 'active', value: false }))
    for (const again of [userName, userName.toUpperCase(), member.email]) {
      const reply = await acme.ask('POST', '/Users', userBody(again))
      expect([reply.status, reply.body]).toEqual([409, scimError(409, 'uniqueness')])
    }
  })

  it('AD-141 gives one membership to a user who is created ten times at once', async () => {
    const acme = await directory(t)
    const other = await directory(t)
    const userName = freshAddress()
    const create = (at: typeof acme) => at.ask('POST', '/Users', userBody(userName))
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => create(i % 2 ? acme : other)))
    const statuses = replies.map(({ status }) => status).sort()
    expect(statuses).toEqual([201, 201, ...Array(18).fill(409)])
    for (const { orgId } of [acme, other]) {
      expect((await membersOf(t, orgId))[userName]).toBe('viewer scim')
      expect((await trailOf(t.database, orgId)).filter(({ action }) => action === 'member.joined')).toHaveLength(1)
    }
  })

  it('AD-142 can begin with an inactive user, who is no member', async () => {
    const acme = await directory(t)
    const userName = freshAddress()
    const { result, trail } = await withTrail(t.database, acme.orgId, () =>
      acme.ask('POST', '/Users', userBody(userName, { active: 'False' })),
    )
    expect([result.status, result.body.active, trail]).toEqual([201, false, []])
    expect((await membersOf(t, acme.orgId))[userName]).toBeUndefined()
  })
})

describe('deactivating a user', () => {
  const forms: [string, object][] = [
    ['Okta', { op: 'replace', value: { active: false } }],
    ['Entra ID', { op: 'Replace', path: 'active', value: 'False' }],
    ['Entra ID without a path', { op: 'Replace', value: { active: 'False', 'name.givenName': 'Rob' } }],
    ['Entra ID with a list', { op: 'Replace', path: 'active', value: [{ $ref: null, value: 'False' }] }],
    [
      'the URN of the schema',
      { op: 'replace', path: 'urn:ietf:params:scim:schemas:core:2.0:User:active', value: false },
    ],
  ]
  it.each(forms)(
    'AD-142 R-50 removes the membership in the form of %s and keeps the user readable',
    async (_, form) => {
      const acme = await directory(t)
      const userName = freshAddress()
      const { id } = (await acme.ask('POST', '/Users', userBody(userName))).body
      const account = await userWith(userName)
      const { result, trail } = await withTrail(t.database, acme.orgId, () =>
        acme.ask('PATCH', `/Users/${id}`, patchBody(form)),
      )
      expect([result.status, result.body.id, result.body.active]).toEqual([200, id, false])
      expect(await membersOf(t, acme.orgId)).not.toHaveProperty([userName])
      expect(trail).toMatchObject([
        {
          action: 'member.removed',
          actor_user_id: null,
          resource_type: 'membership',
          resource_id: id,
          metadata: { role: 'viewer', user_id: account?.id, via: 'scim' },
        },
      ])
      expect(trail).toHaveLength(1)
      expect(ended.filter(({ orgId }) => orgId === acme.orgId)).toEqual([
        { actor: 'nobody', orgId: acme.orgId, userId: account?.id },
      ])
      const read = await acme.ask('GET', `/Users/${id}`)
      expect([read.status, read.body]).toEqual([200, result.body])
      expect(await userWith(userName)).toEqual(account)
    },
  )

  it('AD-142 AD-144 R-50 and activating them again puts the membership back under its id, with the mapped role', async () => {
    const acme = await directory(t)
    const userName = freshAddress()
    const { id } = (await acme.ask('POST', '/Users', userBody(userName))).body
    await acme.ask('PATCH', `/Users/${id}`, patchBody({ op: 'replace', path: 'active', value: false }))
    await acme.ask('POST', '/Groups', groupBody('Engineering', [id]))
    const { result, trail } = await withTrail(t.database, acme.orgId, () =>
      acme.ask('PATCH', `/Users/${id}`, patchBody({ op: 'replace', path: 'active', value: 'True' })),
    )
    expect([result.status, result.body.active]).toEqual([200, true])
    expect(trail).toMatchObject([
      { action: 'member.joined', resource_id: id, metadata: { role: 'developer', via: 'scim' } },
    ])
    expect(trail).toHaveLength(1)
    expect((await membersOf(t, acme.orgId))[userName]).toBe('developer scim')
    const again = await withTrail(t.database, acme.orgId, () =>
      acme.ask('PATCH', `/Users/${id}`, patchBody({ op: 'replace', path: 'active', value: true })),
    )
    expect([again.result.status, again.result.body, again.trail]).toEqual([200, result.body, []])
  })

  it('AD-142 leaves the other orgs of the person alone', async () => {
    const [acme, other] = [await directory(t), await directory(t)]
    const userName = freshAddress()
    const { id } = (await acme.ask('POST', '/Users', userBody(userName))).body
    await other.ask('POST', '/Users', userBody(userName))
    expect((await acme.ask('DELETE', `/Users/${id}`)).status).toBe(204)
    expect((await membersOf(t, other.orgId))[userName]).toBe('viewer scim')
    const [account] = await t.database.sql('select default_org_id from users where email = $1', [userName])
    expect(account).toEqual({ default_org_id: other.orgId })
  })
})

it('A-338 AD-142 A deleted user is gone from the org and the directory, and can be created again', async () => {
  const acme = await directory(t)
  const userName = freshAddress()
  const { id } = (await acme.ask('POST', '/Users', userBody(userName))).body
  const { result, trail } = await withTrail(t.database, acme.orgId, () => acme.ask('DELETE', `/Users/${id}`))
  expect([result.status, result.text]).toEqual([204, ''])
  expect(trail).toMatchObject([{ action: 'member.removed', metadata: { via: 'scim' } }])
  for (const method of ['GET', 'DELETE']) {
    const gone = await acme.ask(method, `/Users/${id}`)
    expect([gone.status, gone.body]).toEqual([404, scimError(404)])
  }
  expect(await userWith(userName)).toBeDefined()
  expect((await acme.ask('POST', '/Users', userBody(userName))).status).toBe(201)
})

describe('owners', () => {
  it('AD-142 keep their membership whatever the directory says', async () => {
    const acme = await directory(t)
    const second = await person(t, { orgId: acme.orgId, role: 'owner' })
    const before = await membersOf(t, acme.orgId)
    const inactive = patchBody({ op: 'replace', path: 'active', value: false })
    for (const { membershipId, email } of [acme.owner, second]) {
      const path = `/Users/${membershipId}`
      const attempts = [
        () => acme.ask('PATCH', path, inactive),
        () => acme.ask('PUT', path, userBody(email, { active: false, externalId: 'x' })),
        () => acme.ask('DELETE', path),
      ]
      for (const attempt of attempts) {
        const { result, trail } = await withTrail(t.database, acme.orgId, attempt)
        expect([result.status, result.body, trail]).toEqual([403, scimError(403), []])
      }
      expect((await acme.ask('GET', path)).body).not.toHaveProperty('externalId')
    }
    expect(await membersOf(t, acme.orgId)).toEqual(before)
  })

  it('AD-142 A-341 keep their role in every group, also when the directory made them members', async () => {
    const acme = await directory(t)
    const userName = freshAddress()
    const { id } = (await acme.ask('POST', '/Users', userBody(userName))).body
    await acme.owner.ask('PATCH', '/api/internal/team/members', { id, role: 'owner' })
    const { trail } = await withTrail(t.database, acme.orgId, async () => {
      expect((await acme.ask('POST', '/Groups', groupBody('viewers', [id, acme.owner.membershipId]))).status).toBe(201)
      const linked = await acme.ask('PUT', `/Users/${id}`, userBody(userName, { externalId: 'e1', active: true }))
      expect([linked.status, linked.body.externalId]).toEqual([200, 'e1'])
      expect((await acme.ask('DELETE', `/Users/${id}`)).status).toBe(403)
    })
    expect(trail).toEqual([])
    expect((await membersOf(t, acme.orgId))[userName]).toBe('owner scim')
  })
})

describe('changing a user', () => {
  it('A-338 ignores read-only and unknown attributes of a PUT, and keeps active when it is left out', async () => {
    const acme = await directory(t)
    const userName = freshAddress()
    const { id } = (await acme.ask('POST', '/Users', userBody(userName, { externalId: 'a', displayName: 'Bob' }))).body
    const { result, trail } = await withTrail(t.database, acme.orgId, () =>
      acme.ask('PUT', `/Users/${id}`, {
        ...userBody(userName, { name: { givenName: 'Rob' } }),
        id: newId('membership'),
        meta: { resourceType: 'Group', location: 'x' },
        groups: [{ value: 'scg_x' }],
        locale: 'en-US',
        password: 'secret',
        'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'R&D' },
      }),
    )
    expect([result.status, trail]).toEqual([200, []])
    expect(result.body).toMatchObject({ id, userName, name: { givenName: 'Rob' }, active: true, groups: [] })
    expect(result.body).not.toHaveProperty('externalId')
    expect((await userWith(userName))?.password_hash).toBeNull()
  })

  it('A-338 applies the operations of Entra ID, and ignores attributes that the service does not keep', async () => {
    const acme = await directory(t)
    const userName = freshAddress()
    const { id } = (await acme.ask('POST', '/Users', userBody(userName, { externalId: 'a' }))).body
    const patched = await acme.ask(
      'PATCH',
      `/Users/${id}`,
      patchBody(
        { op: 'Replace', path: 'name.givenName', value: 'Rob' },
        { op: 'Add', path: 'NAME.familyName', value: 'Roe' },
        { op: 'Replace', path: 'displayName', value: 'Rob Roe' },
        { op: 'Add', path: 'phoneNumbers[type eq "work"].value', value: '+1555' },
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'thief@corp.test' },
        { op: 'Add', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department', value: 'R&D' },
        { op: 'Remove', path: 'externalId' },
      ),
    )
    expect([patched.status, patched.body]).toMatchObject([
      200,
      {
        name: { givenName: 'Rob', familyName: 'Roe' },
        displayName: 'Rob Roe',
        emails: [{ value: userName, primary: true }],
      },
    ])
    expect(patched.body).not.toHaveProperty('externalId')
  })

  it('R-50 shows another userName, by which the user is found, and never changes the address of the account', async () => {
    const acme = await directory(t)
    const [userName, renamed] = [freshAddress(), freshAddress('Rob')]
    const { id } = (await acme.ask('POST', '/Users', userBody(userName))).body
    const account = await userWith(userName)
    const reply = await acme.ask('PUT', `/Users/${id}`, userBody(renamed))
    expect([reply.status, reply.body.userName, reply.body.emails[0].value]).toEqual([200, renamed, userName])
    expect([await userWith(userName), await userWith(renamed)]).toEqual([account, undefined])
    const found = await acme.ask('GET', `/Users?filter=${encodeURIComponent(`USERNAME EQ "${renamed.toUpperCase()}"`)}`)
    expect(found.body.Resources.map((one: { id: string }) => one.id)).toEqual([id])
    const other = (await acme.ask('POST', '/Users', userBody(freshAddress()))).body
    const taken = await acme.ask('PUT', `/Users/${other.id}`, userBody(renamed))
    expect([taken.status, taken.body]).toEqual([409, scimError(409, 'uniqueness')])
    const outside = await acme.ask('PUT', `/Users/${id}`, userBody('bob@elsewhere.test'))
    expect([outside.status, outside.body]).toEqual([400, scimError(400, 'invalidValue')])
  })

  it('AD-140 refuses operations that it cannot apply, and applies none of the others', async () => {
    const acme = await directory(t)
    const { id, meta } = (await acme.ask('POST', '/Users', userBody(freshAddress()))).body
    const refused: [unknown, string][] = [
      [patchBody({ op: 'replace', path: 'id', value: 'x' }), 'mutability'],
      [patchBody({ op: 'remove', path: 'userName' }), 'mutability'],
      [patchBody({ op: 'remove' }), 'noTarget'],
      [patchBody({ op: 'move', path: 'active', value: true }), 'invalidSyntax'],
      [patchBody({ op: 'replace', path: 'active', value: 'perhaps' }), 'invalidValue'],
      [patchBody({ op: 'replace', value: 'x' }), 'invalidValue'],
      [patchBody({ op: 'replace', path: 'emails[', value: 'x' }), 'invalidPath'],
      [patchBody({ op: 'replace', path: 7, value: 'x' }), 'invalidPath'],
      [patchBody({ op: 'replace', path: 'displayName', value: 'x'.repeat(257) }), 'invalidValue'],
      [patchBody(), 'invalidSyntax'],
      [patchBody(...Array(1_001).fill({ op: 'replace', path: 'active', value: true })), 'invalidSyntax'],
      [{}, 'invalidSyntax'],
      [[], 'invalidSyntax'],
      [null, 'invalidSyntax'],
    ]
    for (const [body, scimType] of refused) {
      const first = { op: 'replace', path: 'displayName', value: 'Changed' }
      const given = body as { Operations?: object[] } | null
      const sent = given?.Operations?.length ? { ...given, Operations: [first, ...given.Operations] } : body
      const reply = await acme.ask('PATCH', `/Users/${id}`, sent)
      expect([reply.status, reply.body], JSON.stringify(body).slice(0, 200)).toEqual([400, scimError(400, scimType)])
    }
    expect((await acme.ask('GET', `/Users/${id}`)).body.meta).toEqual(meta)
  })

  it('AD-140 honours If-Match and If-None-Match', async () => {
    const acme = await directory(t)
    const userName = freshAddress()
    const created = await acme.ask('POST', '/Users', userBody(userName))
    const path = `/Users/${created.body.id}`
    const etag = created.headers.etag as string
    const unread = await acme.ask('GET', path, undefined, { headers: { 'if-none-match': etag } })
    expect([unread.status, unread.text, unread.headers.etag]).toEqual([304, '', etag])
    const change = (ifMatch: string, displayName: string) =>
      acme.ask('PATCH', path, patchBody({ op: 'replace', path: 'displayName', value: displayName }), {
        headers: { 'if-match': ifMatch },
      })
    const first = await change(etag, 'One')
    expect([first.status, first.headers.etag === etag]).toEqual([200, false])
    const stale = await change(etag, 'Two')
    expect([stale.status, stale.body]).toEqual([412, scimError(412)])
    const deleted = await acme.ask('DELETE', path, undefined, { headers: { 'if-match': etag } })
    expect(deleted.status).toBe(412)
    expect((await acme.ask('GET', path)).body.displayName).toBe('One')
    expect((await change(`"x", ${first.headers.etag}`, 'Three')).status).toBe(200)
    expect((await change('*', 'Four')).status).toBe(200)
  })
})

describe('listing users', () => {
  it('A-336 A-337 AD-140 pages over all members of the org, and over no others', async () => {
    const [acme, other] = [await directory(t), await directory(t)]
    const names = [acme.owner.email]
    for (let i = 0; i < 4; i++) {
      names.push(freshAddress())
      await acme.ask('POST', '/Users', userBody(names.at(-1) as string))
    }
    await other.ask('POST', '/Users', userBody(freshAddress()))
    const list = async (query: string) => {
      const { status, body } = await acme.ask('GET', `/Users?${query}`)
      const shown = body.Resources.map((one: { userName: string }) => one.userName)
      return [status, body.totalResults, body.startIndex, body.itemsPerPage, shown]
    }
    expect(await list('')).toEqual([200, 5, 1, 5, names])
    expect(await list('startIndex=2&count=2')).toEqual([200, 5, 2, 2, names.slice(1, 3)])
    expect(await list('startIndex=-3&count=1')).toEqual([200, 5, 1, 1, names.slice(0, 1)])
    expect(await list('startIndex=99')).toEqual([200, 5, 99, 0, []])
    expect(await list('count=0')).toEqual([200, 5, 1, 0, []])
    expect(await list('count=-1')).toEqual([200, 5, 1, 0, []])
    expect(await list('count=5000')).toEqual([200, 5, 1, 5, names])
    const bad = await acme.ask('GET', '/Users?count=many')
    expect([bad.status, bad.body]).toEqual([400, scimError(400, 'invalidValue')])
  })

  it('AD-140 filters by userName, externalId, displayName and address in either case', async () => {
    const acme = await directory(t)
    const userName = freshAddress()
    const given = userBody(userName, { externalId: 'Ext"\\1', displayName: 'Bob Roe' })
    const { id } = (await acme.ask('POST', '/Users', given)).body
    await acme.ask('POST', '/Users', userBody(freshAddress()))
    const found = async (filter: string) => {
      const { status, body } = await acme.ask('GET', `/Users?filter=${encodeURIComponent(filter)}`)
      return status === 200 ? body.Resources.map((one: { id: string }) => one.id) : body
    }
    const matching = [
      `userName eq "${userName}"`,
      `username Eq "${userName.toUpperCase()}"`,
      `externalId eq ${JSON.stringify('Ext"\\1')}`,
      'DISPLAYNAME EQ "bob roe"',
      `id eq "${id}" and active eq true`,
      `emails.value eq "${userName}"`,
      `emails[type eq "work"].value eq "${userName}"`,
      `(userName eq "${userName}") and (active eq True)`,
      `urn:ietf:params:scim:schemas:core:2.0:User:userName eq "${userName}"`,
    ]
    for (const filter of matching) expect(await found(filter), filter).toEqual([id])
    for (const filter of ['externalId eq "ext\\"\\\\1"', `id eq "${id}" and active eq false`, 'userName eq "x"']) {
      expect(await found(filter), filter).toEqual([])
    }
    const refused = ['userName', 'userName co "x"', 'userName eq', 'title eq "x"', 'userName eq "\\u0000"', '"', '(']
    for (const filter of [...refused, 'not (userName eq "x")', 'userName eq "a" or userName eq "b"', 'userName eq 7']) {
      expect(await found(filter), filter).toEqual(scimError(400, 'invalidFilter'))
    }
  })

  it('AD-140 shows only the attributes that the directory asks for', async () => {
    const acme = await directory(t)
    const only = await acme.ask('GET', `/Users/${acme.owner.membershipId}?attributes=userName,name.givenName`)
    expect(Object.keys(only.body).sort()).toEqual(['id', 'name', 'schemas', 'userName'])
    const without = await acme.ask('GET', `/Users/${acme.owner.membershipId}?excludedAttributes=groups,Emails`)
    expect(Object.keys(without.body).sort()).toEqual([
      'active',
      'displayName',
      'id',
      'meta',
      'name',
      'schemas',
      'userName',
    ])
  })
})

it('R-50 A user whom an owner removed and invited again keeps the id that the directory knows', async () => {
  const acme = await directory(t)
  const userName = freshAddress()
  const { id } = (await acme.ask('POST', '/Users', userBody(userName))).body
  await acme.owner.ask('DELETE', `/api/internal/team/members?id=${id}`)
  expect((await acme.ask('GET', `/Users/${id}`)).body.active).toBe(false)
  await t.database.sql(
    `insert into memberships (org_id, id, user_id, role, source, created_at)
     select $1, $2, id, 'developer', 'invitation', created_at from users where email = $3`,
    [acme.orgId, newId('membership'), userName],
  )
  expect((await acme.ask('GET', `/Users/${id}`)).body.active).toBe(true)
  expect((await acme.ask('GET', '/Users')).body.totalResults).toBe(2)
  const left = await acme.ask('PATCH', `/Users/${id}`, patchBody({ op: 'replace', value: { active: false } }))
  expect([left.status, left.body.active]).toEqual([200, false])
  expect(await membersOf(t, acme.orgId)).not.toHaveProperty([userName])
})
