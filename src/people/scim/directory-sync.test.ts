/** A large directory, and one whose requests meet a lost database or a removed owner. */
import { afterAll, expect, it } from 'vitest'
import { trailOf, withTrail } from '../../../test/audit/trail.ts'
import {
  type Directory,
  directory,
  freshAddress,
  groupBody,
  membersOf,
  newScimToken,
  patchBody,
  scimAs,
  scimError,
  userBody,
  verifiedDomains,
} from '../../../test/clients/directory-client.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { withoutDatabase } from '../../../test/service/lost-database.ts'
import { startTestService } from '../../../test/service/service.ts'

const logFile = await openLogFile()
const t = await startTestService({ ...verifiedDomains, log: logFile.log, env: { RATE_LIMITER: 'off' } })
afterAll(async () => {
  await t.stop()
  await logFile.remove()
})

type Group = { id: string; displayName: string; members: { value: string }[] }

/** Every page, as a directory reads them. */
const allGroups = async ({ ask }: Directory, count: number): Promise<Group[]> => {
  const found: Group[] = []
  for (;;) {
    const { body } = await ask('GET', `/Groups?startIndex=${found.length + 1}&count=${count}`)
    found.push(...body.Resources)
    if (found.length >= body.totalResults) return found
    expect(body.itemsPerPage).toBe(body.Resources.length)
    expect(body.Resources).not.toEqual([])
  }
}

const inTens = async <T>(items: T[], run: (item: T) => Promise<unknown>): Promise<void> => {
  for (let i = 0; i < items.length; i += 10) await Promise.all(items.slice(i, i + 10).map(run))
}

it('A-339 AD-140 AD-143 AD-144 500 groups are paged without gaps, and their mapping gives the roles', async () => {
  const acme = await directory(t)
  const addresses = Array.from({ length: 5 }, () => freshAddress())
  const ids: string[] = []
  for (const userName of addresses) ids.push((await acme.ask('POST', '/Users', userBody(userName))).body.id)
  const names = Array.from({ length: 500 }, (_, i) => `Group ${i}`)
  await inTens(names, async (name) => {
    const members = name === 'Group 77' ? [ids[0] as string] : name === 'Group 499' ? [ids[1] as string] : []
    expect((await acme.ask('POST', '/Groups', groupBody(name, members))).status).toBe(201)
  })
  for (const count of [200, 77]) {
    const found = await allGroups(acme, count)
    expect(found.map(({ displayName }) => displayName).sort()).toEqual([...names].sort())
    expect(new Set(found.map(({ id }) => id)).size).toBe(500)
  }
  const groups = names.map((display_name, i) => ({ display_name, role: i === 77 ? 'developer' : 'member' }))
  const { status } = await acme.owner.ask('PUT', '/api/internal/scim/mapping', { default_role: 'viewer', groups })
  expect(status).toBe(200)
  const roles = await membersOf(t, acme.orgId)
  expect(addresses.map((address) => roles[address])).toEqual([
    'developer scim',
    'member scim',
    ...Array(3).fill('viewer scim'),
  ])
})

it('AD-144 groups that are renamed while they are listed and changed keep their members and give the last role', async () => {
  const acme = await directory(t)
  const userName = freshAddress()
  const { id: user } = (await acme.ask('POST', '/Users', userBody(userName))).body
  const groups: Group[] = []
  for (let i = 0; i < 40; i++) groups.push((await acme.ask('POST', '/Groups', groupBody(`Team ${i}`, [user]))).body)
  const rename = ({ id }: Group, value: string) =>
    acme.ask('PATCH', `/Groups/${id}`, patchBody({ op: 'replace', path: 'displayName', value }))
  const pages: Promise<Group[]>[] = []
  await inTens(groups, async (group) => {
    pages.push(allGroups(acme, 7))
    expect((await rename(group, `Renamed ${group.displayName}`)).status).toBe(200)
  })
  for (const found of await Promise.all(pages)) {
    expect(found.map(({ id }) => id).sort()).toEqual(groups.map(({ id }) => id).sort())
    for (const { members } of found) expect(members.map(({ value }) => value)).toEqual([user])
  }
  // Two groups exchange their names over a third name, as a directory does it.
  const [one, two] = groups as [Group, Group]
  expect((await rename(one, 'developers')).status).toBe(200)
  expect((await rename(two, 'developers')).body).toEqual(scimError(409, 'uniqueness'))
  expect((await membersOf(t, acme.orgId))[userName]).toBe('developer scim')
  expect((await rename(one, 'something')).status).toBe(200)
  expect((await rename(two, 'members')).status).toBe(200)
  expect((await membersOf(t, acme.orgId))[userName]).toBe('member scim')
})

it('AD-141 of the same user sent twice at once one is created and the other is a conflict', async () => {
  const acme = await directory(t)
  const userName = freshAddress()
  const create = () => acme.ask('POST', '/Users', userBody(userName))
  const replies = await Promise.all([create(), create()])
  const [created, refused] = replies.sort((a, b) => a.status - b.status)
  expect([created?.status, created?.body.userName]).toEqual([201, userName])
  expect([refused?.status, refused?.body]).toEqual([409, scimError(409, 'uniqueness')])
  expect((await membersOf(t, acme.orgId))[userName]).toBe('viewer scim')
})

it('AD-142 a directory that removes the last owner in any form gets 403, and the owner stays', async () => {
  const acme = await directory(t)
  const { id } = (await acme.ask('GET', `/Users?filter=${encodeURIComponent(`userName eq "${acme.owner.email}"`)}`))
    .body.Resources[0]
  const { result, trail } = await withTrail(t.database, acme.orgId, () =>
    Promise.all([
      acme.ask('DELETE', `/Users/${id}`),
      acme.ask('PATCH', `/Users/${id}`, patchBody({ op: 'replace', path: 'active', value: false })),
      acme.ask('PATCH', `/Users/${id}`, patchBody({ op: 'Replace', value: { active: 'False' } })),
      acme.ask('PUT', `/Users/${id}`, userBody(acme.owner.email, { active: false })),
    ]),
  )
  for (const { status, body } of result) expect([status, body]).toEqual([403, scimError(403)])
  expect(trail).toEqual([])
  expect((await membersOf(t, acme.orgId))[acme.owner.email]).toMatch(/^owner /)
  expect((await acme.owner.ask('GET', '/api/internal/org')).status).toBe(200)
})

it('while the database is away every request is 503 in the form of SCIM, and the directory goes on afterwards', async () => {
  const acme = await directory(t)
  const userName = freshAddress()
  const { id } = (await acme.ask('POST', '/Users', userBody(userName))).body
  const second = scimAs(t, await newScimToken(acme.owner, 'Second'))
  const before = (await trailOf(t.database, acme.orgId)).length
  await withoutDatabase(t.database, async () => {
    for (const [method, path, body] of [
      ['GET', '/Users', undefined],
      ['GET', '/nowhere', undefined],
      ['POST', '/Users', userBody(freshAddress())],
      ['PATCH', `/Users/${id}`, patchBody({ op: 'replace', path: 'active', value: false })],
      ['DELETE', `/Users/${id}`, undefined],
      ['POST', '/Groups', groupBody('lost')],
    ] as const) {
      for (const ask of [acme.ask, second]) {
        const reply = await ask(method, path, body)
        expect([reply.status, reply.body], `${method} ${path}`).toEqual([503, scimError(503)])
        expect(reply.headers['retry-after']).toBe('2')
        expect(reply.headers['content-type']).toBe('application/scim+json; charset=utf-8')
        expect(reply.text).not.toMatch(/terminat|ECONN|database "/i)
      }
    }
  })
  await expect.poll(async () => (await acme.ask('GET', `/Users/${id}`)).status).toBe(200)
  expect((await acme.ask('GET', `/Users/${id}`)).body).toMatchObject({ userName, active: true })
  expect((await trailOf(t.database, acme.orgId)).length).toBe(before)
  await expect.poll(async () => (await logFile.lines('request failed')).length).toBe(12)
})
