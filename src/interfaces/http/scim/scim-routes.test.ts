import { afterAll, describe, expect, it } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import {
  directory,
  freshAddress,
  groupBody,
  newScimToken,
  patchBody,
  scimAs,
  scimError,
  userBody,
  verifiedDomains,
} from '../../../../test/clients/directory-client.ts'
import { startTestService } from '../../../../test/service/service.ts'

const t = await startTestService(verifiedDomains)
afterAll(() => t.stop())

const paths = [
  '/Users',
  '/Groups',
  '/ServiceProviderConfig',
  '/ResourceTypes',
  '/Schemas',
  '/Users/x',
  '/nowhere',
  '',
  '/',
]

describe('the token', () => {
  it('A-334 A-335 AD-140 is the only thing that opens a path under /scim/v2', async () => {
    const { owner, token, orgId } = await directory(t)
    const key = await t.key(orgId)
    const wrong = `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`
    const attempts: Record<string, string>[] = [
      {},
      { cookie: owner.cookie },
      { authorization: `Bearer ${key}` },
      { authorization: `Bearer ${key}`, cookie: owner.cookie },
      { authorization: `Bearer ${wrong}` },
      { authorization: 'Bearer' },
      { authorization: token },
      { authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` },
    ]
    for (const headers of attempts) {
      for (const path of paths) {
        const reply = await t.ask('GET', `/scim/v2${path}`, { headers })
        expect([reply.status, reply.body], path).toEqual([401, scimError(401)])
        expect(reply.headers['content-type']).toBe('application/scim+json; charset=utf-8')
        expect(reply.headers['www-authenticate']).toBe('Bearer')
      }
      const { result, trail } = await withTrail(t.database, orgId, () =>
        t.ask('POST', '/scim/v2/Users', { headers, body: userBody(freshAddress()) }),
      )
      expect([result.status, trail]).toEqual([401, []])
    }
    for (const other of ['/api/v1/emails', '/api/internal/team/members']) {
      expect((await t.ask('GET', other, { key: token })).status).toBe(401)
    }
  })

  it('AD-139 ends with its expiry, its revocation and its org', async () => {
    const { owner, orgId, token } = await directory(t)
    const path = '/api/internal/scim/tokens'
    const short = (await owner.ask('POST', path, { name: 'short', expires_in_days: 1 })).body
    const status = async (one: string) => (await scimAs(t, one)('GET', '/Users')).status
    expect([await status(token), await status(short.token)]).toEqual([200, 200])
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 86_400 } })
    expect([await status(token), await status(short.token)]).toEqual([200, 401])
    const next = await newScimToken(owner, 'next')
    const { data } = (await owner.ask('GET', path)).body
    expect(data.map(({ name }: { name: string }) => name)).toEqual(['next', 'Okta'])
    await owner.ask('DELETE', `${path}?id=${data[1].id}`)
    expect([await status(token), await status(next)]).toEqual([401, 200])
    await t.database.sql('update orgs set deleted_at = created_at where id = $1', [orgId])
    expect(await status(next)).toBe(401)
  })

  it('AD-145 allows 600 requests per minute, each token on its own', async () => {
    const { owner, token } = await directory(t)
    const other = await newScimToken(owner, 'Second')
    const ask = scimAs(t, token)
    for (let sent = 0; sent < 600; sent += 50) {
      const replies = await Promise.all(Array.from({ length: 50 }, () => ask('GET', '/ServiceProviderConfig')))
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
    }
    const refused = await ask('GET', '/Users')
    expect([refused.status, refused.body]).toEqual([429, scimError(429)])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused.headers['content-type']).toBe('application/scim+json; charset=utf-8')
    expect((await scimAs(t, other)('GET', '/Users')).status).toBe(200)
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 61 } })
    expect((await ask('GET', '/Users')).status).toBe(200)
  })
})

it('AD-140 The service describes itself: what it supports, its resource types and its schemas', async () => {
  const { ask } = await directory(t)
  const base = `${t.url}/scim/v2`
  const config = await ask('GET', '/ServiceProviderConfig')
  expect([config.status, config.body]).toMatchObject([
    200,
    {
      patch: { supported: true },
      bulk: { supported: false },
      filter: { supported: true, maxResults: 200 },
      sort: { supported: false },
      changePassword: { supported: false },
      etag: { supported: true },
      authenticationSchemes: [{ type: 'oauthbearertoken' }],
    },
  ])
  const types = (await ask('GET', '/ResourceTypes')).body
  expect([types.totalResults, types.Resources.map((one: { endpoint: string }) => one.endpoint)]).toEqual([
    2,
    ['/Users', '/Groups'],
  ])
  const schemas = (await ask('GET', '/Schemas')).body
  expect(schemas.totalResults).toBe(2)
  for (const { meta, ...described } of [...types.Resources, ...schemas.Resources]) {
    expect(meta.location.startsWith(base)).toBe(true)
    expect((await ask('GET', meta.location.slice(base.length))).body).toEqual({ ...described, meta })
  }
  const { id } = (await ask('POST', '/Users', userBody(freshAddress(), { externalId: 'x' }))).body
  const user = (await ask('GET', `/Users/${id}`)).body
  const known = schemas.Resources[0].attributes.map((one: { name: string }) => one.name)
  expect(
    Object.keys(user)
      .filter((name) => !['schemas', 'id', 'meta'].includes(name))
      .sort(),
  ).toEqual(known.sort())
  const unknown = await ask('GET', '/Schemas/urn:x')
  expect([unknown.status, unknown.body]).toEqual([404, scimError(404)])
})

describe('a request that cannot be served', () => {
  it('AD-140 gets a SCIM error for its path or its method', async () => {
    const { ask } = await directory(t)
    for (const [method, path] of [
      ['GET', '/nowhere'],
      ['POST', '/Bulk'],
      ['GET', '/Me'],
      ['GET', '/Users/x/y'],
      ['GET', '/Users/'],
      ['GET', '/Users/%00'],
      ['GET', `/Users/${'x'.repeat(10_000)}`],
      ['GET', '/Groups/%F0%9F%98%80'],
    ] as const) {
      const reply = await ask(method, path)
      expect([reply.status, reply.body], path).toEqual([404, scimError(404)])
    }
    for (const [method, path, allow] of [
      ['DELETE', '/Users', 'GET, HEAD, POST'],
      ['POST', '/Users/x', 'DELETE, GET, HEAD, PATCH, PUT'],
      ['PUT', '/ServiceProviderConfig', 'GET, HEAD'],
    ] as const) {
      const reply = await ask(method, path)
      expect([reply.status, reply.body, reply.headers.allow], path).toEqual([405, scimError(405), allow])
    }
  })

  it('AD-140 gets a SCIM error for a body that is not JSON, too large, too deep or of another type', async () => {
    const { ask, orgId } = await directory(t)
    const { id } = (await ask('POST', '/Groups', groupBody('one'))).body
    const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
    const raws: [string | Buffer, number, string?][] = [
      ['', 400, 'invalidSyntax'],
      ['{', 400, 'invalidSyntax'],
      ['[]', 400, 'invalidSyntax'],
      ['null', 400, 'invalidSyntax'],
      ['"x"', 400, 'invalidSyntax'],
      ['7', 400, 'invalidSyntax'],
      [`{"x":${nested(1_000)}}`, 400, 'invalidSyntax'],
      [`[${'0,'.repeat(60_000)}0]`, 400, 'invalidSyntax'],
      [Buffer.from([0x22, 0xff, 0x22]), 400, 'invalidSyntax'],
      ['{"displayName":"\\u0000","userName":"\\ud800"}', 400, 'invalidSyntax'],
      [`{"displayName":"${'x'.repeat(1_048_576)}"}`, 413],
    ]
    const { trail } = await withTrail(t.database, orgId, async () => {
      for (const [method, path] of [
        ['POST', '/Users'],
        ['POST', '/Groups'],
        ['PUT', `/Groups/${id}`],
        ['PATCH', `/Groups/${id}`],
      ] as const) {
        for (const [raw, status, scimType] of raws) {
          const reply = await ask(method, path, undefined, { raw })
          expect([reply.status, reply.body], `${method} ${raw.slice(0, 40)}`).toEqual([
            status,
            scimError(status, scimType),
          ])
        }
      }
      const text = await ask('POST', '/Groups', groupBody('two'), { headers: { 'content-type': 'text/plain' } })
      expect([text.status, text.body]).toEqual([415, scimError(415)])
    })
    expect(trail).toEqual([])
    expect((await ask('GET', '/Groups')).body.totalResults).toBe(1)
    const plain = await ask('POST', '/Groups', groupBody('two'), { headers: { 'content-type': 'application/json' } })
    expect(plain.status).toBe(201)
  })

  it('AD-140 never fails inside, whatever the values of its attributes are', async () => {
    const { ask } = await directory(t)
    const userName = freshAddress()
    const user = `/Users/${(await ask('POST', '/Users', userBody(userName))).body.id}`
    const group = `/Groups/${(await ask('POST', '/Groups', groupBody('one'))).body.id}`
    const values: unknown[] = [null, true, 1e300, '', 'x'.repeat(5_000), [], [[]], [{}], { value: {} }, { toString: 1 }]
    for (const name of ['externalId', 'name', 'displayName', 'active', 'members', 'groups', '__proto__']) {
      const requests = values.flatMap((value) => {
        const raw = `{"userName":"${userName}","displayName":"x","${name}":${JSON.stringify(value)}}`
        const patch = patchBody({ op: 'add', path: name, value }, { op: 'replace', value: { [name]: value } })
        return [user, group].flatMap((path) => [
          ask('PUT', path, undefined, { raw }),
          ask('PATCH', path, patch),
          ask('PATCH', path, patchBody({ op: 'remove', path: name, value })),
        ])
      })
      for (const { status, body } of await Promise.all(requests)) {
        if (status !== 200) expect([status, body]).toEqual([400, scimError(400, body.scimType)])
      }
    }
  })

  it('AD-140 gets a SCIM error for a parameter that is given twice', async () => {
    const { ask } = await directory(t)
    const reply = await ask('GET', '/Users?count=1&count=2')
    expect([reply.status, reply.body]).toEqual([400, scimError(400, 'invalidSyntax')])
  })
})
