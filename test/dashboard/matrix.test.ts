import { afterAll, describe, expect, test } from 'vitest'
import { roles } from '../../src/customers/accounts/sessions.ts'
import {
  bySession,
  type DashboardRoute,
  defineRoute,
  gates,
  type SessionGate,
} from '../../src/interfaces/http/route.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { markChanged } from '../../src/platform/ground/request-context.ts'
import { addMember, addPerson, askWith, memberCookie, ofDashboard, signIn } from '../clients/people.ts'
import { changedTables, makeDigest } from '../hostile/responses.ts'
import { type Reply, startTestService } from '../service/service.ts'
import { type Line, matrix } from './matrix.ts'

const memberGates = gates.filter((gate) => gate !== 'public')

/** A read and a change behind each gate, so that each is tested even while no route uses it. */
const probes = memberGates.flatMap((gate) =>
  (['GET', 'POST'] as const).map((method) =>
    defineRoute(method, `/api/internal/probe-${gate}`, bySession(gate), {
      responses: { 204: null },
      handle: async () => ({ status: 204 }),
    }),
  ),
)
const changingProbe = (path: string, acts: { acts?: true }) =>
  defineRoute('GET', path, bySession('requireUserSession'), {
    ...acts,
    responses: { 204: null },
    handle: async () => {
      markChanged()
      return { status: 204 }
    },
  })
probes.push(changingProbe('/api/internal/probe-acts', { acts: true }), changingProbe('/api/internal/probe-changes', {}))
const probePaths = new Set(probes.map(({ path }) => path))

const t = await startTestService({ dashboardRoutes: probes })
afterAll(() => t.stop())

const acme = await t.org()
const other = await t.org({ name: 'Other' })
const suspended = await t.org({ name: 'Suspended' })
await t.database.sql("update orgs set suspended_at = created_at, suspension_reason = 'spam' where id = $1", [
  suspended.org.id,
])

const enforcing = await t.org({ name: 'Enforcing' })
await t.database.sql('update orgs set sso_enforced = true where id = $1', [enforcing.org.id])

const keyOf = ({ method, path }: DashboardRoute): string => `${method} ${path}`

const lineOf = (route: DashboardRoute): Line => {
  if (probePaths.has(route.path))
    return { gate: route.access.gate, admitted: route.path.endsWith('-changes') ? 500 : 204 }
  const line = matrix[keyOf(route)]
  if (!line) throw new Error(`${keyOf(route)} has no line in test/dashboard/matrix.ts`)
  return line
}

const unauthorized = [401, { error: 'Unauthorized' }]
const ownerRequired = [403, { error: 'Owner role required' }]
const developerRequired = [403, { error: 'Developer or owner role required' }]
const writeRequired = [403, { error: 'Write access required' }]
const suspendedOrg = [403, { error: 'Organisation suspended', code: 'ORG_SUSPENDED' }]
const crossSite = [403, { error: 'Cross-site request refused', code: 'CROSS_SITE_REFUSED' }]

const stepUp = [
  403,
  {
    error: 'Confirm with your own password first. An identity provider opened this session for its organisation only.',
    code: 'STEP_UP_REQUIRED',
  },
]
const ssoClosed = [
  403,
  {
    error:
      'This organisation requires single sign-on, and its identity provider does not sign in addresses outside its domains. Ask an owner to exempt you.',
    code: 'SSO_REQUIRED',
    login_url: `/api/auth/saml/login?org=${enforcing.org.slug}`,
    exemption_needed: true,
  },
]

const allRoles = new Set<string>(roles)

/** What a gate answers to each role, and to a signed-in user without a usable role. */
const refusals: Record<Exclude<SessionGate, 'public'>, { admits: Set<string>; otherRole: unknown; noRole: unknown }> = {
  requireUserSession: { admits: allRoles, otherRole: undefined, noRole: undefined },
  requireSession: { admits: allRoles, otherRole: undefined, noRole: unauthorized },
  requireWriteSession: {
    admits: new Set(['owner', 'developer', 'member']),
    otherRole: writeRequired,
    noRole: unauthorized,
  },
  requireDeveloperSession: {
    admits: new Set(['owner', 'developer']),
    otherRole: developerRequired,
    noRole: unauthorized,
  },
  requireOwnerSession: { admits: new Set(['owner']), otherRole: ownerRequired, noRole: ownerRequired },
}

const call = (route: DashboardRoute, headers: Record<string, string>): Promise<Reply> => {
  const { body = {}, query = '' } = lineOf(route)
  const path = route.path.replace(/\{(\w+)\}/g, (_, name) => newId(route.params?.[name] ?? 'request'))
  const all = route.acts ? { ...ofDashboard, ...headers } : headers
  return t.ask(route.method, `${path}${query}`, { headers: all, ...(route.method !== 'GET' && { body }) })
}

/** Checks the whole refusal, or only the status where the gate admits the caller. */
const expectAnswer = (reply: Reply, route: DashboardRoute, refusal: unknown, who: string): void => {
  const about = `${keyOf(route)} as ${who}: ${reply.text}`
  if (refusal === undefined) expect(reply.status, about).toBe(lineOf(route).admitted)
  else expect([reply.status, reply.body], about).toEqual(refusal)
}

const routes = t.service.dashboardRoutes
/** Routes are walked at once, which takes a fraction of the time. */
const each = async <T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
  await Promise.all(items.map(work))
}
const gated = routes.filter(({ access }) => access.gate !== 'public')
const gateOf = (route: DashboardRoute) => refusals[route.access.gate as Exclude<SessionGate, 'public'>]
const isPersonal = ({ access }: DashboardRoute): boolean => access.gate === 'requireUserSession'

/** A fresh session for each request, because some routes end the session they are called with. */
const cookieIn = (orgId: string, role: string) => memberCookie(t, orgId, role)

describe('every route of the dashboard', () => {
  test('has a line in the matrix with its own gate, and no line is left over', () => {
    const own = routes.filter(({ path }) => !probePaths.has(path))
    expect(own.map(keyOf).sort()).toEqual(Object.keys(matrix).sort())
    for (const route of own) {
      const { gate, whileSuspended, fromOtherSites, ownFactors, acts } = lineOf(route)
      const { access } = route
      const stated = [access.gate, access.whileSuspended, access.fromOtherSites, access.ownFactors, route.acts]
      expect(stated, keyOf(route)).toEqual([gate, whileSuspended, fromOtherSites, ownFactors, acts])
      if (ownFactors) expect(gate, keyOf(route)).toBe('requireUserSession')
    }
  })

  test('A-040 asks for a write session only on the template test send, and is public only under /api/auth', () => {
    for (const route of routes.filter(({ path }) => !probePaths.has(path))) {
      if (route.access.gate === 'public') expect(route.path).toMatch(/^\/api\/auth\//)
      if (route.access.gate === 'requireWriteSession') expect(route.path).toBe('/api/internal/templates/test-send')
      if (route.access.gate === 'requireSession' && route.path !== '/api/internal/templates/preview') {
        expect(route.method, route.path).toBe('GET')
      }
    }
  })

  test('A-028 A-344 X-013 is 401 without a session, with an API key, and with a token that is no session', async () => {
    await each(gated, async (route) => {
      expectAnswer(await call(route, {}), route, unauthorized, 'nobody')
      const key = { authorization: `Bearer ${acme.keys.live}` }
      expectAnswer(await call(route, key), route, unauthorized, 'an API key')
      for (const token of ['x', 'A'.repeat(43), acme.keys.live]) {
        expectAnswer(await call(route, { cookie: `service_session=${token}` }), route, unauthorized, token)
      }
    })
  })

  test.each(roles)('A-037 A-038 A-041 A-044 answers %s as its gate says', async (role) => {
    await each(gated, async (route) => {
      const { admits, otherRole } = gateOf(route)
      const reply = await call(route, { cookie: await cookieIn(acme.org.id, role) })
      expectAnswer(reply, route, admits.has(role) ? undefined : otherRole, role)
    })
  })

  test('A-033 A-036 A-045 A-346 admits a user without a usable role only where identity is enough', async () => {
    await each(gated, async (route) => {
      const { noRole } = gateOf(route)
      const emperor = await call(route, { cookie: await cookieIn(acme.org.id, 'emperor') })
      expectAnswer(emperor, route, noRole, 'an unknown role')
      const { userId } = await addPerson(t)
      const nowhere = await call(route, { cookie: await signIn(t, userId) })
      expectAnswer(nowhere, route, noRole, 'nobody’s member')
    })
  })

  test('A-030 A-035 refuses an active org that the user does not belong to, and clears the cookie', async () => {
    await each(gated, async (route) => {
      for (const org of [other.org.id, newId('org'), 'nonsense', '%00']) {
        const cookie = `${await cookieIn(acme.org.id, 'owner')}; service_active_org=${org}`
        const reply = await call(route, { cookie })
        expectAnswer(reply, route, gateOf(route).noRole, `an owner elsewhere (${org})`)
        if (isPersonal(route)) continue
        expect(reply.headers['set-cookie'], keyOf(route)).toBe(
          'service_active_org=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
        )
      }
    })
  })

  /** An owner of both orgs, in a session that the identity provider of the first one opened. */
  const cookieOfProvider = async (activeOrg: string): Promise<string> => {
    const { userId } = await addPerson(t, { orgId: acme.org.id, role: 'owner' })
    await addMember(t, other.org.id, userId, 'owner')
    const from = { method: 'saml', ip: null, userAgent: 'test', ssoOrgId: acme.org.id }
    return `service_session=${await t.service.sessions.open(userId, from)}; service_active_org=${activeOrg}`
  }

  test('R-54 serves a session of an identity provider for its org, and nothing of the whole account', async () => {
    await each(gated, async (route) => {
      const reply = await call(route, { cookie: await cookieOfProvider(acme.org.id) })
      expectAnswer(reply, route, lineOf(route).ownFactors ? stepUp : undefined, 'an owner through the provider')
    })
  })

  test('R-54 refuses a session of another identity provider in every org of the person', async () => {
    await each(gated, async (route) => {
      const reply = await call(route, { cookie: await cookieOfProvider(other.org.id) })
      const closed = !isPersonal(route) || lineOf(route).ownFactors
      expectAnswer(reply, route, closed ? stepUp : undefined, 'an owner through the provider of another org')
    })
  })

  test('R-54 refuses an org that enforces single sign-on to members outside its domains', async () => {
    await each(gated, async (route) => {
      const cookie = await cookieIn(enforcing.org.id, 'developer')
      expectAnswer(await call(route, { cookie }), route, isPersonal(route) ? undefined : ssoClosed, 'a member')
      const owner = await call(route, { cookie: await cookieIn(enforcing.org.id, 'owner') })
      expectAnswer(owner, route, undefined, 'an owner')
    })
  })

  test('refuses changes in a suspended org after the role gate, and still serves reads and personal routes', async () => {
    await each(gated, async (route) => {
      for (const role of roles) {
        const { admits, otherRole } = gateOf(route)
        const reply = await call(route, { cookie: await cookieIn(suspended.org.id, role) })
        const open = route.method === 'GET' || isPersonal(route) || route.access.whileSuspended === 'open'
        expectAnswer(reply, route, admits.has(role) ? (open ? undefined : suspendedOrg) : otherRole, role)
      }
    })
  })

  test('refuses a change that another site sends, before the role gate and the body are judged', async () => {
    await each(
      routes.filter(({ method, access }) => method !== 'GET' && !access.fromOtherSites),
      async (route) => {
        for (const site of ['cross-site', 'same-site']) {
          const cookie = await cookieIn(acme.org.id, 'viewer')
          const reply = await call(route, { cookie, 'sec-fetch-site': site, origin: t.url })
          expectAnswer(reply, route, crossSite, site)
        }
        if (route.access.gate === 'public') return
        const stranger = await call(route, { 'sec-fetch-site': 'cross-site' })
        expectAnswer(stranger, route, unauthorized, 'a stranger from another site')
      },
    )
  })

  test('answers no link and no picture where a read is recorded or starts work, and records nothing', async () => {
    const acting = routes.filter(({ acts }) => acts)
    expect(acting.map(keyOf).sort()).toEqual([
      'GET /api/internal/audit/chain',
      'GET /api/internal/audit/verify',
      'GET /api/internal/org/export',
      'GET /api/internal/probe-acts',
    ])
    const cookie = await cookieIn(acme.org.id, 'owner')
    const entries = () => t.database.sql('select id from audit_entries where org_id = $1', [acme.org.id])
    const before = await entries()
    const script = { 'x-requested-with': 'dashboard' }
    for (const route of acting) {
      const ask = (method: string, headers: Record<string, string>) =>
        t.ask(method, route.path, { headers: { cookie, ...headers } })
      const foreign: Record<string, string>[] = [
        {},
        { 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document' },
        { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'image' },
        { 'sec-fetch-site': 'cross-site', ...script },
        { 'sec-fetch-site': 'same-site', ...script },
        { 'sec-fetch-site': 'same-origin', 'x-requested-with': '' },
        script,
      ]
      for (const headers of foreign) {
        expectAnswer(await ask('GET', headers), route, crossSite, JSON.stringify(headers))
      }
      expect((await ask('HEAD', ofDashboard)).status, keyOf(route)).toBe(405)
      const none = await ask('GET', { ...script, 'sec-fetch-site': 'none' })
      expect([200, 204, 503], keyOf(route)).toContain(none.status)
    }
    const added = (await entries()).length - before.length
    expect(added).toBe(1)
  })

  test('fails in tests when a read changes something without saying so', async () => {
    const cookie = await cookieIn(acme.org.id, 'owner')
    const ask = (path: string) => askWith(t, cookie, 'GET', `/api/internal/${path}`)
    expect([(await ask('probe-acts')).status, (await ask('probe-changes')).status]).toEqual([204, 500])
  })

  test('lets other sites send only the response of an identity provider, whatever the session', async () => {
    const open = routes.filter(({ access }) => access.fromOtherSites)
    expect(open.map(keyOf)).toEqual(['POST /api/auth/saml/acs'])
    for (const route of open) {
      const reply = await call(route, { 'sec-fetch-site': 'cross-site', origin: 'https://idp.example.com' })
      expectAnswer(reply, route, undefined, 'another site')
    }
  })

  test('A-029 X-014 a session is not accepted under /api/v1', async () => {
    const cookie = await cookieIn(acme.org.id, 'owner')
    const reply = await askWith(t, cookie, 'GET', '/api/v1/keys')
    expect([reply.status, reply.body.error.code]).toEqual([401, 'UNAUTHORIZED'])
  })

  test('A-345 A-347 A-049 an owner passes every gate, and other roles get the refusal of the gate', async () => {
    const answers = async (role: string, gate: SessionGate) => {
      const reply = await askWith(t, await cookieIn(acme.org.id, role), 'POST', `/api/internal/probe-${gate}`)
      return [reply.status, reply.body]
    }
    for (const gate of memberGates) expect((await answers('owner', gate))[0], gate).toBe(204)
    for (const role of ['developer', 'member', 'viewer']) {
      expect(await answers(role, 'requireOwnerSession'), role).toEqual(ownerRequired)
    }
    for (const role of ['member', 'viewer']) {
      expect(await answers(role, 'requireDeveloperSession'), role).toEqual(developerRequired)
    }
  })

  test('A-071 A-072 refuses every change of org data to viewers, and all but the template test send to members', async () => {
    await each(
      gated.filter((route) => route.method !== 'GET' && !isPersonal(route)),
      async (route) => {
        const viewer = await call(route, { cookie: await cookieIn(acme.org.id, 'viewer') })
        expect(viewer.status, keyOf(route)).toBe(route.access.gate === 'requireSession' ? lineOf(route).admitted : 403)
        if (['requireSession', 'requireWriteSession'].includes(route.access.gate)) return
        const member = await call(route, { cookie: await cookieIn(acme.org.id, 'member') })
        expect([member.status, member.body], keyOf(route)).toEqual([viewer.status, viewer.body])
      },
    )
  })

  test('A-046 is personal when it concerns the own account, the own sessions or the second factor', () => {
    const own = /^\/api\/internal\/(?:user|sessions)(?:\/|$)/
    for (const { path, access } of routes) if (own.test(path)) expect(access.gate, path).toBe('requireUserSession')
  })

  test('A-047 shows and changes no data of an org where identity is enough', async () => {
    const marker = 'org-data-marker'
    const owner = { cookie: await cookieIn(acme.org.id, 'owner') }
    for (const [path, body] of [
      ['tenants', { name: marker, external_ref: marker }],
      ['projects', { name: marker }],
      ['audiences', { name: marker }],
      ['contacts', { name: marker, email: `${marker}@example.com` }],
      ['suppressions', { channel: 'email', value: `${marker}@example.com` }],
      ['domains', { name: `${marker}.test` }],
      ['api-keys', { name: marker }],
      ['team/invite', { email: `${marker}@example.com`, role: 'viewer' }],
    ] as const) {
      const made = await t.ask('POST', `/api/internal/${path}`, { headers: owner, body })
      expect(made.status, `${path} ${made.text}`).toBe(201)
      const listed = await t.ask('GET', `/api/internal/${path}`, { headers: owner })
      expect(listed.text, path).toContain(marker)
    }
    const read = await makeDigest(t.database)
    const before = await read()
    await each(routes.filter(isPersonal), async (route) => {
      const reply = await call(route, { cookie: await cookieIn(acme.org.id, 'owner') })
      expectAnswer(reply, route, undefined, 'an owner')
      expect(reply.text, keyOf(route)).not.toContain(marker)
    })
    // Each request has its own new user with a membership and a session. The export of one's own data is in the log.
    const expected = ['users', 'memberships', 'sessions', 'audit_entries', 'audit_unlinked']
    const changed = changedTables(before, await read())
    expect(changed.filter((table) => !expected.includes(table))).toEqual([])
  })

  test('A-034 a membership has one of four roles, strongest first', () => {
    expect(roles).toEqual(['owner', 'developer', 'member', 'viewer'])
  })
})
