import { afterAll, describe, expect, it } from 'vitest'
import { trailOf, withTrail } from '../../../test/audit/trail.ts'
import {
  type Directory,
  directory,
  freshAddress,
  groupBody,
  membersOf,
  patchBody,
  scimError,
  userBody,
  verifiedDomains,
} from '../../../test/clients/directory-client.ts'
import { person } from '../../../test/clients/team-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService(verifiedDomains)
afterAll(() => t.stop())

type User = { id: string; userName: string }

const users = async (acme: Directory, n: number): Promise<User[]> => {
  const made: User[] = []
  for (let i = 0; i < n; i++) made.push((await acme.ask('POST', '/Users', userBody(freshAddress()))).body)
  return made
}

const group = async (acme: Directory, name: string, members: User[] = []) =>
  (
    await acme.ask(
      'POST',
      '/Groups',
      groupBody(
        name,
        members.map(({ id }) => id),
      ),
    )
  ).body

const memberIds = (body: { members: { value: string }[] }): string[] => body.members.map(({ value }) => value).sort()

const roleOf = async (acme: Directory, user: User): Promise<string | undefined> =>
  (await membersOf(t, acme.orgId))[user.userName]

it('A-339 AD-140 Groups are created, read, listed, changed and deleted', async () => {
  const acme = await directory(t)
  const [bob] = (await users(acme, 1)) as [User]
  const created = await acme.ask('POST', '/Groups', { ...groupBody('engineering', [bob.id]), externalId: 'g1' })
  const { id } = created.body
  expect([created.status, created.body]).toEqual([
    201,
    {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      id: expect.stringMatching(/^scg_/),
      externalId: 'g1',
      displayName: 'engineering',
      members: [{ value: bob.id, display: bob.userName }],
      meta: {
        resourceType: 'Group',
        created: expect.any(String),
        lastModified: expect.any(String),
        location: `${t.url}/scim/v2/Groups/${id}`,
        version: 'W/"1"',
      },
    },
  ])
  expect((await acme.ask('GET', `/Groups/${id}`)).body).toEqual(created.body)
  expect((await acme.ask('GET', `/Users/${bob.id}`)).body.groups).toEqual([{ value: id, display: 'engineering' }])
  await group(acme, 'other')
  const list = await acme.ask('GET', '/Groups')
  expect(list.body).toMatchObject({ totalResults: 2, startIndex: 1, itemsPerPage: 2 })
  expect(list.body.Resources[0]).toEqual(created.body)
  const slim = await acme.ask('GET', `/Groups/${id}?excludedAttributes=members`)
  expect(slim.body).not.toHaveProperty('members')
  const put = await acme.ask('PUT', `/Groups/${id}`, { ...created.body, displayName: 'Platform', members: [] })
  expect([put.status, put.body]).toMatchObject([
    200,
    { displayName: 'Platform', members: [], meta: { version: 'W/"2"' } },
  ])
  expect(put.body.externalId).toBe('g1')
  expect((await acme.ask('DELETE', `/Groups/${id}`)).status).toBe(204)
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const body = method === 'PUT' ? groupBody('x') : patchBody({ op: 'add', path: 'displayName', value: 'x' })
    const gone = await acme.ask(method, `/Groups/${id}`, 'GETDELETE'.includes(method) ? undefined : body)
    expect([gone.status, gone.body]).toEqual([404, scimError(404)])
  }
})

describe('changing the members of a group', () => {
  it('A-339 takes the forms of Okta and Entra ID', async () => {
    const acme = await directory(t)
    const [a, b, c] = (await users(acme, 3)) as [User, User, User]
    const { id } = await group(acme, 'engineering')
    const steps: [object, User[]][] = [
      [{ op: 'add', path: 'members', value: [{ value: a.id, display: a.userName }] }, [a]],
      [{ op: 'Add', path: 'members', value: [{ value: a.id }, { value: b.id, $ref: null }] }, [a, b]],
      [{ op: 'remove', path: `members[value eq "${a.id}"]` }, [b]],
      [{ op: 'Remove', path: `MEMBERS[VALUE EQ "${newId('membership')}"]` }, [b]],
      [{ op: 'replace', path: 'members', value: [{ value: a.id }, { value: c.id }] }, [a, c]],
      [{ op: 'Remove', path: 'members', value: [{ value: c.id }] }, [a]],
      [{ op: 'add', value: { members: [{ value: b.id }] } }, [a, b]],
      [{ op: 'replace', value: { id, displayName: 'engineering', members: [{ value: c.id }] } }, [c]],
      [{ op: 'remove', path: 'members' }, []],
    ]
    for (const [operation, members] of steps) {
      const reply = await acme.ask('PATCH', `/Groups/${id}`, patchBody(operation))
      expect([reply.status, memberIds(reply.body)], JSON.stringify(operation)).toEqual([
        200,
        members.map((user) => user.id).sort(),
      ])
      for (const user of [a, b, c]) {
        expect(await roleOf(acme, user)).toBe(members.includes(user) ? 'developer scim' : 'viewer scim')
      }
    }
  })

  it('AD-140 refuses members that are no users of the org, and changes nothing', async () => {
    const [acme, other] = [await directory(t), await directory(t)]
    const [bob] = (await users(acme, 1)) as [User]
    const [foreign] = (await users(other, 1)) as [User]
    const { id } = await group(acme, 'engineering')
    const { trail } = await withTrail(t.database, acme.orgId, async () => {
      for (const value of [foreign.id, newId('membership'), id, 'x', '']) {
        const operation = { op: 'add', path: 'members', value: [{ value: bob.id }, { value }] }
        const reply = await acme.ask('PATCH', `/Groups/${id}`, patchBody(operation))
        expect([reply.status, reply.body]).toEqual([400, scimError(400, 'invalidValue')])
      }
      for (const path of [
        'members[display eq "x"]',
        'members[value eq true]',
        'members[value eq "a" and value eq "b"]',
      ]) {
        const reply = await acme.ask('PATCH', `/Groups/${id}`, patchBody({ op: 'remove', path }))
        expect([reply.status, reply.body]).toEqual([400, scimError(400, 'invalidPath')])
      }
      for (const value of [
        { op: 'remove', path: 'displayName' },
        { op: 'replace', path: 'id', value: 'x' },
      ]) {
        const reply = await acme.ask('PATCH', `/Groups/${id}`, patchBody(value))
        expect([reply.status, reply.body]).toEqual([400, scimError(400, 'mutability')])
      }
    })
    expect(trail).toEqual([])
    expect((await acme.ask('GET', `/Groups/${id}`)).body.members).toEqual([])
  })

  it('AD-140 honours If-Match, and lets one of two changes with the same version through', async () => {
    const acme = await directory(t)
    const { id, meta } = await group(acme, 'one')
    const rename = (name: string) =>
      acme.ask('PATCH', `/Groups/${id}`, patchBody({ op: 'replace', path: 'displayName', value: name }), {
        headers: { 'if-match': meta.version },
      })
    const replies = await Promise.all([rename('two'), rename('three')])
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 412])
    expect(replies.find(({ status }) => status === 412)?.body).toEqual(scimError(412))
  })

  it('AD-140 refuses a group with more than 10,000 members', async () => {
    const acme = await directory(t)
    const members = Array.from({ length: 10_001 }, (_, i) => ({ value: `mem_${i}` }))
    const reply = await acme.ask('POST', '/Groups', { ...groupBody('large'), members })
    expect([reply.status, reply.body]).toEqual([400, scimError(400, 'invalidValue')])
    expect((await acme.ask('GET', '/Groups')).body.totalResults).toBe(0)
  })
})

describe('the roles of members', () => {
  it('A-340 AD-144 follow the highest of their groups, with one audit entry for each change', async () => {
    const acme = await directory(t)
    const [bob] = (await users(acme, 1)) as [User]
    const { trail } = await withTrail(t.database, acme.orgId, async () => {
      await group(acme, 'Viewers', [bob])
      const member = await group(acme, 'MEMBERS', [bob])
      const developer = await group(acme, 'Engineering', [bob])
      expect(await roleOf(acme, bob)).toBe('developer scim')
      await acme.ask('DELETE', `/Groups/${member.id}`)
      expect(await roleOf(acme, bob)).toBe('developer scim')
      await acme.ask('PATCH', `/Groups/${developer.id}`, patchBody({ op: 'remove', path: 'members' }))
      expect(await roleOf(acme, bob)).toBe('viewer scim')
    })
    const [account] = await t.database.sql<{ id: string }>('select id from users where email = $1', [bob.userName])
    const entry = (from: string, to: string) => ({
      action: 'member.role_changed',
      actor_user_id: null,
      resource_type: 'membership',
      resource_id: bob.id,
      metadata: { from, to, user_id: account?.id, via: 'scim' },
    })
    expect(trail).toMatchObject([entry('viewer', 'member'), entry('member', 'developer'), entry('developer', 'viewer')])
    expect(trail).toHaveLength(3)
  })

  it('AD-144 follow a group that is renamed while members are added to it', async () => {
    const acme = await directory(t)
    const people = await users(acme, 6)
    const { id } = await group(acme, 'unmapped')
    const add = ({ id: value }: User) =>
      acme.ask('PATCH', `/Groups/${id}`, patchBody({ op: 'add', path: 'members', value: [{ value }] }))
    const rename = (value: string) =>
      acme.ask('PATCH', `/Groups/${id}`, patchBody({ op: 'replace', value: { displayName: value } }))
    const replies = await Promise.all([
      ...people.slice(0, 3).map(add),
      rename('developers'),
      ...people.slice(3).map(add),
    ])
    expect(replies.map(({ status }) => status)).toEqual(Array(7).fill(200))
    for (const user of people) expect(await roleOf(acme, user)).toBe('developer scim')
    await rename('something else')
    for (const user of people) expect(await roleOf(acme, user)).toBe('viewer scim')
    const changes = (await trailOf(t.database, acme.orgId)).filter(({ action }) => action === 'member.role_changed')
    expect(changes).toHaveLength(12)
  })

  it('A-341 AD-143 come from no group that is called owner', async () => {
    const acme = await directory(t)
    const [bob] = (await users(acme, 1)) as [User]
    for (const name of ['owner', 'Owners', ' OWNERS ']) {
      const reply = await acme.ask('POST', '/Groups', groupBody(`${name}`, [bob.id]))
      expect([201, 409]).toContain(reply.status)
    }
    expect(await roleOf(acme, bob)).toBe('viewer scim')
  })

  it('R-50 stay as they are for members who came another way', async () => {
    const acme = await directory(t)
    const invited = await person(t, { orgId: acme.orgId, role: 'member' })
    const { result, trail } = await withTrail(t.database, acme.orgId, () =>
      acme.ask('POST', '/Groups', groupBody('engineering', [invited.membershipId])),
    )
    expect([result.status, memberIds(result.body), trail]).toEqual([201, [invited.membershipId], []])
    expect((await membersOf(t, acme.orgId))[invited.email]).toBe('member created')
  })
})

it('AD-140 A name that another group has is refused in either case, also for concurrent requests', async () => {
  const acme = await directory(t)
  const replies = await Promise.all(['Eng', 'eng', 'ENG '].map((name) => acme.ask('POST', '/Groups', groupBody(name))))
  expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  expect(replies.find(({ status }) => status === 409)?.body).toEqual(scimError(409, 'uniqueness'))
  const { id } = await group(acme, 'other')
  const renamed = await acme.ask(
    'PATCH',
    `/Groups/${id}`,
    patchBody({ op: 'replace', path: 'displayName', value: 'EnG' }),
  )
  expect([renamed.status, renamed.body]).toEqual([409, scimError(409, 'uniqueness')])
  const recased = await acme.ask('PUT', `/Groups/${id}`, groupBody('OTHER'))
  expect([recased.status, recased.body.displayName]).toEqual([200, 'OTHER'])
})

it('AD-140 Groups are found by displayName, externalId and a member, as Entra ID asks', async () => {
  const acme = await directory(t)
  const [bob] = (await users(acme, 1)) as [User]
  const { id } = (await acme.ask('POST', '/Groups', { ...groupBody('Eng', [bob.id]), externalId: 'X1' })).body
  await group(acme, 'other')
  const found = async (filter: string) =>
    (await acme.ask('GET', `/Groups?filter=${encodeURIComponent(filter)}`)).body.Resources?.map(
      (one: { id: string }) => one.id,
    )
  for (const filter of ['displayName eq "ENG"', 'externalid Eq "X1"', `id eq "${id}" and members eq "${bob.id}"`]) {
    expect(await found(filter), filter).toEqual([id])
  }
  for (const filter of ['externalId eq "x1"', `members[value eq "${newId('membership')}"]`]) {
    expect(await found(filter), filter).toEqual([])
  }
  const refused = await acme.ask('GET', '/Groups?filter=userName%20eq%20%22x%22')
  expect([refused.status, refused.body]).toEqual([400, scimError(400, 'invalidFilter')])
})

it('A-336 A token reaches no user and no group of another org', async () => {
  const [acme, other] = [await directory(t), await directory(t)]
  const [bob] = (await users(acme, 1)) as [User]
  const { id } = await group(acme, 'engineering', [bob])
  const { trail } = await withTrail(t.database, acme.orgId, async () => {
    for (const [path, whole] of [
      [`/Users/${bob.id}`, userBody(bob.userName)],
      [`/Groups/${id}`, groupBody('engineering')],
    ] as const) {
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        const patch = patchBody({ op: 'replace', value: { active: false, displayName: 'x' } })
        const body = { GET: undefined, DELETE: undefined, PUT: whole, PATCH: patch }[method]
        const reply = await other.ask(method, path, body)
        expect([reply.status, reply.body], `${method} ${path}`).toEqual([404, scimError(404)])
      }
    }
  })
  expect(trail).toEqual([])
  expect((await other.ask('GET', `/Users?filter=id%20eq%20%22${bob.id}%22`)).body.totalResults).toBe(0)
  expect((await other.ask('GET', '/Groups')).body.totalResults).toBe(0)
  expect(await roleOf(acme, bob)).toBe('developer scim')
})
