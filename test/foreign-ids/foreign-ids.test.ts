/**
 * A request that names a foreign row gets the same response as for a row that never existed: on every route, with every
 * kind of key, for every kind of foreign row. The table lists the exceptions, where the requirements demand a 403.
 */
import { afterAll, describe, expect, test } from 'vitest'
import type { PublicRoute } from '../../src/interfaces/http/route.ts'
import { makeVault } from '../../src/platform/ground/crypto.ts'
import type { Code } from '../../src/platform/ground/errors.ts'
import { type IdKind, newId, prefixes, timeOfId } from '../../src/platform/ground/ids.ts'
import type { Environment } from '../../src/platform/ground/scope.ts'
import { mintSecret, sealSecret } from '../../src/webhooks/webhook-secret.ts'
import { keyClient, keyIdOf, resetKeyCreationLimit } from '../clients/key-client.ts'
import { campaignOf, completeBrand } from '../clients/sender-client.ts'
import { expectRefusal, watchTables } from '../expect/refusal.ts'
import { readSurface } from '../hostile/surface.ts'
import type { Resolve, Schema } from '../hostile/values.ts'
import { type Reply, startTestService, testMasterKey } from '../service/service.ts'
import { type Line, namedRows, nameOf, ownDltTemplate, ownSmsTemplate, table, unlisted, type Verdict } from './table.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)
const surface = await readSurface(t)

const home = await t.org({ name: 'Home' })
const away = await t.org({ name: 'Away' })
const [homeKeys, awayKeys] = [await keyClient(t, home), await keyClient(t, away)]

/** What a request that omits these fields stores. */
const campaignDefaults = {
  opt_in_keywords: [],
  help_keyword: 'HELP',
  stop_keyword: 'STOP',
  embedded_link: false,
  embedded_phone: false,
  age_gated: false,
  direct_lending: false,
}

type Where = {
  orgId: string
  tenantId?: string | null
  environment?: Environment
  projectId?: string
  state?: string
  channel?: 'sms' | undefined
}

const now = () => t.service.clock.now()
const defaultProject = (orgId: string) => (orgId === home.org.id ? homeKeys : awayKeys).projectId
const insertProject = async ({ orgId, environment = 'live' }: Where): Promise<string> => {
  const id = newId('project')
  await t.database.sql(
    `insert into projects (org_id, id, name, slug, created_environment, created_at, updated_at)
     values ($1, $2, 'row', $2, $3, $4, $4)`,
    [orgId, id, environment, now()],
  )
  return id
}
const insertSuppression = async ({ orgId, tenantId = null, environment = 'live' }: Where): Promise<string> => {
  const id = newId('suppression')
  await t.database.sql(
    `insert into suppressions
       (org_id, id, tenant_id, channel, value, reason, source, created_environment, created_at, updated_at)
     values ($1, $2, $3, 'email', $2 || '@example.com', 'manual', 'api', $4, $5, $5)`,
    [orgId, id, tenantId, environment, now()],
  )
  return id
}
const insertTemplate = async ({ orgId, tenantId = null, environment = 'live' }: Where): Promise<string> => {
  const id = newId('template')
  await t.database.sql(
    `insert into templates (org_id, id, tenant_id, slug, channel, text, created_environment, created_at, updated_at)
     values ($1, $2, $3, replace($2, '_', '-'), 'sms', 'Hello', $4, $5, $5)`,
    [orgId, id, tenantId, environment, now()],
  )
  return id
}
const insertTenant = async ({ orgId, environment = 'live', state = 'active' }: Where): Promise<string> => {
  const id = await t.tenant(orgId, { status: state })
  await t.database.sql('update tenants set created_environment = $2 where id = $1', [id, environment])
  return id
}
const insertDomain = async ({ orgId, tenantId = null, projectId, environment = 'live' }: Where): Promise<string> => {
  const id = newId('domain')
  await t.database.sql(
    `insert into domains
       (org_id, id, project_id, tenant_id, name, status, dkim_status, region, created_environment, created_at,
        updated_at)
     values ($1, $2, $3, $4, $2 || '.test', 'pending', 'PENDING', 'us-east-1', $6, $5, $5)`,
    [orgId, id, projectId ?? defaultProject(orgId), tenantId, now(), environment],
  )
  return id
}

const insertIpPool = async ({ orgId }: Where): Promise<string> => {
  const id = newId('ipPool')
  await t.database.sql(
    `insert into ip_pools (org_id, id, name, region, ip_count, ips, created_at, updated_at)
     values ($1, $2, 'row', 'us-east-1', 1, '[]', $3, $3)`,
    [orgId, id, now()],
  )
  return id
}
const insertMessage = async (where: Where): Promise<string> => {
  const { orgId, tenantId = null, environment = 'live', projectId, channel = 'email' } = where
  const id = newId('message', t.service.clock.millis())
  await t.database.sql(
    `insert into messages
       (org_id, id, created_at, tenant_id, environment, project_id, channel, status, from_address, to_addresses)
     values ($1, $2, $3, $4, $5, $6, $7, 'scheduled', 'a@example.test', '{b@example.com}')`,
    [orgId, id, new Date(timeOfId(id)), tenantId, environment, projectId ?? defaultProject(orgId), channel],
  )
  return id
}

const insertVerification = async (where: Where): Promise<string> => {
  const { orgId, tenantId = null, environment = 'live', projectId } = where
  const id = newId('verification', t.service.clock.millis())
  await t.database.sql(
    `insert into verifications (org_id, id, tenant_id, environment, project_id, channel, destination, code_hash,
       max_attempts, created_at, expires_at)
     values ($1, $2, $3, $4, $5, 'sms', '+447700900100', $6, 5, $7, $7::timestamptz + interval '1 hour')`,
    [orgId, id, tenantId, environment, projectId ?? defaultProject(orgId), '0'.repeat(64), now()],
  )
  return id
}

const insertDltTemplate = async ({ orgId, environment = 'live' }: Where, id = newId('dltTemplate')) => {
  const common = [orgId, environment, now()]
  const [entity, header] = [newId('dltEntity'), newId('dltHeader')]
  await t.database.sql(
    `insert into dlt_entities (org_id, environment, created_at, updated_at, id, entity_id, legal_name, status)
     values ($1, $2, $3, $3, $4, '1001', 'Acme', 'approved')`,
    [...common, entity],
  )
  await t.database.sql(
    `insert into dlt_headers (org_id, environment, created_at, updated_at, id, entity, header, category, status)
     values ($1, $2, $3, $3, $4, $5, 'ACMEIN', 'transactional', 'approved')`,
    [...common, header, entity],
  )
  await t.database.sql(
    `insert into dlt_templates (org_id, environment, created_at, updated_at, id, entity, header, name, category, content,
       status, provider_template_id)
     values ($1, $2, $3, $3, $4, $5, $6, 'Hello', 'transactional', 'Hello {#var#}', 'approved', '1007')`,
    [...common, id, entity, header],
  )
  return id
}

const vault = makeVault(testMasterKey)
const insertEndpoint = async ({ orgId, tenantId = null, environment = 'live' }: Where): Promise<string> => {
  const id = newId('webhookEndpoint')
  await t.database.sql(
    `with made as (
       insert into webhook_endpoints
         (org_id, id, tenant_id, url, events, enabled, secret, created_environment, created_at, updated_at)
       values ($1, $2, $3, 'https://127.0.0.1/hook', '{}', true, $4, $5, $6, $6) returning org_id, id)
     insert into webhook_lanes (org_id, endpoint_id) select org_id, id from made`,
    [orgId, id, tenantId, sealSecret(vault, id, mintSecret()), environment, now()],
  )
  return id
}
/** The parent of a row, if its path contains the parent's id. */
const parents = new Map<string, string>()
const insertDelivery = async (where: Where): Promise<string> => {
  const id = newId('webhookDelivery', now().getTime())
  const endpointId = await insertEndpoint(where)
  parents.set(id, endpointId)
  const payload = JSON.stringify({
    event: 'message.sent',
    data: {},
    timestamp: now(),
    tenant_id: null,
    delivery_id: id,
  })
  await t.database.sql(
    `insert into webhook_deliveries
       (org_id, id, created_at, endpoint_id, tenant_id, environment, event, payload, status, max_attempts)
     values ($1, $2, $3, $4, $5, 'live', 'message.sent', $6, 'failed', 8)`,
    [where.orgId, id, now(), endpointId, where.tenantId ?? null, payload],
  )
  return id
}

/** A contact with an audience that it is a member of. It is in India, because a send to it needs a DLT template. */
const insertContact = async ({ orgId, tenantId = null, environment = 'live' }: Where): Promise<string> => {
  const [id, audienceId] = [newId('contact'), newId('audience')]
  const common = [orgId, tenantId, environment, now()]
  parents.set(id, audienceId)
  await t.database.sql(
    `insert into audiences (org_id, tenant_id, created_environment, created_at, updated_at, id, name, slug, member_count)
     values ($1, $2, $3, $4, $4, $5, 'row', $5, 1)`,
    [...common, audienceId],
  )
  await t.database.sql(
    `insert into contacts (org_id, tenant_id, created_environment, created_at, updated_at, id, email, phone)
     values ($1, $2, $3, $4, $4, $5, $5 || '@example.com', '+919876543210')`,
    [...common, id],
  )
  await t.database.sql(
    'insert into audience_members (org_id, audience_id, contact_id, created_at) values ($1, $2, $3, $4)',
    [orgId, audienceId, id, now()],
  )
  return id
}
const insertAudience = async (where: Where): Promise<string> => parents.get(await insertContact(where)) as string

const insertBrand = async ({ orgId, environment = 'live' }: Where): Promise<string> => {
  const id = newId('brand')
  await t.database.sql(
    `insert into brands (org_id, id, environment, status, fields, created_at, updated_at)
     values ($1, $2, $3, 'verified', $4, $5, $5)`,
    [orgId, id, environment, completeBrand, now()],
  )
  return id
}
const insertCampaign = async (where: Where): Promise<string> => {
  const id = newId('campaign')
  const { brand_id, kind, ...fields } = campaignOf(await insertBrand(where))
  const completed = { ...campaignDefaults, ...fields }
  await t.database.sql(
    `insert into campaigns (org_id, id, brand_id, environment, kind, status, fields, created_at, updated_at)
     values ($1, $2, $3, $4, $5, 'verified', $6, $7, $7)`,
    [where.orgId, id, brand_id, where.environment ?? 'live', kind, completed, now()],
  )
  return id
}
type Given = Where & { id?: string }
const insertNumber = async ({ orgId, tenantId = null, environment = 'live', id }: Given): Promise<string> => {
  const made = id ?? newId('phoneNumber')
  await t.database.sql(
    `insert into phone_numbers
       (org_id, id, tenant_id, environment, kind, type, iso_country, status, created_at, updated_at)
     values ($1, $2, $3, $4, 'number', 'longcode', 'US', 'verified', $5, $5)`,
    [orgId, made, tenantId, environment, now()],
  )
  return made
}
const insertPool = async ({ orgId, tenantId = null, environment = 'live' }: Where): Promise<string> => {
  const id = newId('pool')
  await t.database.sql(
    `insert into pools (org_id, id, tenant_id, slug, name, created_environment, created_at, updated_at)
     values ($1, $2, $3, $2, 'row', $4, $5, $5)`,
    [orgId, id, tenantId, environment, now()],
  )
  return id
}
const insertDltEntity = async ({ orgId, environment = 'live', id }: Given): Promise<string> => {
  const made = id ?? newId('dltEntity')
  await t.database.sql(
    `insert into dlt_entities (org_id, id, environment, entity_id, legal_name, status, created_at, updated_at)
     values ($1, $2, $3, '1101234567890123456', 'row', 'pending', $4, $4)`,
    [orgId, made, environment, now()],
  )
  return made
}
const insertDltHeader = async (where: Given & { entity?: string }): Promise<string> => {
  const { orgId, environment = 'live', id = newId('dltHeader') } = where
  const entity = where.entity ?? (await insertDltEntity({ orgId, environment }))
  await t.database.sql(
    `insert into dlt_headers (org_id, id, environment, entity, header, category, status, created_at, updated_at)
     values ($1, $2, $3, $4, 'ROW', 'transactional', 'pending', $5, $5)`,
    [orgId, id, environment, entity, now()],
  )
  return id
}
const insertInbound = async ({ orgId, tenantId = null }: Where): Promise<string> => {
  const id = newId('inboundSms')
  await t.database.sql(
    `insert into inbound_messages
       (org_id, id, channel, tenant_id, from_address, to_addresses, text, kind, received_at, created_at)
     values ($1, $2, 'sms', $3, '+12065550100', '{+12065550199}', 'Hi', 'reply', $4, $4)`,
    [orgId, id, tenantId, now()],
  )
  await t.database.sql(
    'insert into inbound_attachments (org_id, inbound_id, position, content) values ($1, $2, 0, $3)',
    [orgId, id, Buffer.from('file')],
  )
  return id
}
const insertJob = async ({ orgId, tenantId = null, environment = 'live', projectId }: Where): Promise<string> => {
  const id = newId('job')
  await t.database.sql(
    `insert into jobs (org_id, id, tenant_id, environment, project_id, audience_id, channel, status, from_address,
       template, total, created_at)
     values ($1, $2, $3, $4, $5, 'aud_none', 'email', 'scheduled', 'a@example.test', 'row', 1, $6)`,
    [orgId, id, tenantId, environment, projectId ?? defaultProject(orgId), now()],
  )
  return id
}
await insertNumber({ orgId: home.org.id, id: namedRows.phoneNumber })
const entity = await insertDltEntity({ orgId: home.org.id, id: namedRows.dltEntity })
await insertDltHeader({ orgId: home.org.id, id: namedRows.dltHeader, entity })

/** Creates a row of each kind that a route can name. */
const rows: Partial<Record<IdKind, (where: Where) => Promise<string>>> = {
  key: async ({ orgId, ...where }) => keyIdOf(t, await t.key(orgId, where)),
  project: insertProject,
  suppression: insertSuppression,
  inboundSms: insertInbound,
  template: insertTemplate,
  tenant: insertTenant,
  domain: insertDomain,
  ipPool: insertIpPool,
  message: insertMessage,
  verification: insertVerification,
  dltTemplate: (where) => insertDltTemplate(where),
  webhookEndpoint: insertEndpoint,
  webhookDelivery: insertDelivery,
  audience: insertAudience,
  contact: insertContact,
  brand: insertBrand,
  campaign: insertCampaign,
  phoneNumber: insertNumber,
  pool: insertPool,
  dltEntity: insertDltEntity,
  dltHeader: insertDltHeader,
  job: insertJob,
}
/** Other states of a row, because some routes work only in some states. */
const states: Partial<Record<IdKind, string[]>> = { tenant: ['suspended', 'archived', 'erased'] }
const inEachState = (kind: IdKind, where: Where): Promise<string[]> =>
  Promise.all([undefined, ...(states[kind] ?? [])].map((state) => rowOf(kind, { ...where, ...(state && { state }) })))
const rowOf = (kind: IdKind, where: Where): Promise<string> => {
  const make = rows[kind]
  if (!make) throw new Error(`add a function to \`rows\` in foreign-ids.test.ts that creates a row of kind ${kind}`)
  return make(where)
}

const orgId = home.org.id
await insertDltTemplate({ orgId }, ownDltTemplate)
await t.database.sql('update templates set slug = $2 where id = $1', [await insertTemplate({ orgId }), ownSmsTemplate])
const own = await t.tenant(orgId)
const sibling = await t.tenant(orgId)
const [inProject, otherProject] = [await insertProject({ orgId }), await insertProject({ orgId })]

type Kind = 'liveKey' | 'testKey' | 'tenantKey' | 'projectKey'
const callers: Record<Kind, string> = {
  liveKey: home.keys.live,
  testKey: home.keys.test,
  tenantKey: await t.key(orgId, { tenantId: own }),
  projectKey: await t.key(orgId, { projectId: inProject }),
}
const kinds = Object.keys(callers) as Kind[]
/** The parent in the path for an id without its own parent. */
const [ofOrg, ofTenant] = [await insertEndpoint({ orgId }), await insertEndpoint({ orgId, tenantId: own })]

/** Rows of the same org that are foreign to the caller. For tenants and projects, the row itself counts. */
const foreignRows = async (caller: Kind, kind: IdKind, line: Line): Promise<string[]> => {
  const here = { orgId, channel: line.channel }
  if (caller === 'liveKey') return [await rowOf(kind, { ...here, environment: 'test' })]
  if (caller === 'testKey') return [await rowOf(kind, { ...here, environment: 'live' })]
  if (caller === 'projectKey') {
    return [await rowOf(kind, { ...here, projectId: otherProject }), await rowOf(kind, here)]
  }
  const siblings = await rowOf(kind, { ...here, tenantId: sibling })
  return line.ofNoTenant ? [siblings] : [siblings, await rowOf(kind, { ...here, tenantId: null })]
}

/** Ids that exist for no caller of the org: ids of another org, and values that are not ids of that kind. */
const unknownIds = async (kind: IdKind): Promise<string[]> => {
  const theirTenant = await t.tenant(away.org.id)
  const mine = await rowOf(kind, { orgId })
  const otherKind: IdKind = kind === 'brand' ? 'campaign' : 'brand'
  return [
    ...(await inEachState(kind, { orgId: away.org.id })),
    await rowOf(kind, { orgId: away.org.id, environment: 'test' }),
    await rowOf(kind, { orgId: away.org.id, tenantId: theirTenant }),
    mine.replace(prefixes[kind], prefixes[otherKind]),
    newId(otherKind),
    mine.toUpperCase(),
    `${mine}0`,
    mine.slice(0, -1),
    'x',
    '%00',
    '%20',
  ]
}

/** The parts of a response that do not change with each request or with the id that it names. */
const fixedParts = ({ status, headers, body }: Reply, id = '') => {
  const { request_id: _, ...error } = body?.error ?? {}
  const shown = body?.id === decodeURIComponent(id) ? { ...body, id: 'the id' } : body
  return { status, headers: Object.keys(headers).sort(), body: body?.error ? error : shown }
}

const lineOf = (route: PublicRoute): Line => table[nameOf(route)] as Line
const verdictOf = (route: PublicRoute, caller: Kind): Verdict => lineOf(route)[caller] ?? 'open'

/** The code for a row that never existed. */
const codeOfUnknown = (verdict: Verdict): Code =>
  typeof verdict === 'object' && 'barred' in verdict ? verdict.barred : 'NOT_FOUND'

/** Expects the response for a row that never existed. */
const expectUnknown = (reply: Reply, route: PublicRoute, verdict: Verdict, id: string): void => {
  const { unknownBody } = lineOf(route)
  if (unknownBody) expect([reply.status, reply.body]).toEqual([200, { id, ...unknownBody }])
  else expectRefusal(reply, codeOfUnknown(verdict))
}

type CallOptions = { body?: unknown; query?: string }
const call = (route: PublicRoute, key: string, ids: Record<string, string>, more: CallOptions = {}): Promise<Reply> => {
  const { body: valid } = lineOf(route)
  const { body = typeof valid === 'function' ? valid() : valid, query = lineOf(route).query } = more
  const [row] = Object.values(ids)
  const parent = parents.get(row ?? '') ?? (key === callers.tenantKey ? ofTenant : ofOrg)
  const positions = Object.keys(route.positions ?? {})
  const path = route.path.replace(/\{(\w+)\}/g, (_, name) => (positions.includes(name) ? '0' : (ids[name] ?? parent)))
  return t.ask(route.method, `/api/v1${path}${query ? `?${query}` : ''}`, { key, body })
}

/** The id of the row itself, which is the last one in the path. Earlier ones are its parents. */
const paramOf = (route: PublicRoute): [name: string, kind: IdKind] | undefined =>
  Object.entries(route.params ?? {}).at(-1)

const entryOf = ({ method, path }: PublicRoute) =>
  surface.entries.find((entry) => entry.method === method && entry.path === `/api/v1${path}`)

// Routes that are missing in the table fail a test of their own, and are skipped here.
const routes = t.service.routes
  .filter((route) => nameOf(route) in table)
  .map((route) => [nameOf(route), route] as const)
const withId = routes.filter(([, route]) => paramOf(route))
const withoutId = routes.filter(([, route]) => !paramOf(route))

describe('The table', () => {
  test('has a line for every route, and a route for every line', () => {
    expect(unlisted(t.service.routes)).toEqual([])
    expect(Object.keys(table).filter((name) => !routes.some(([served]) => served === name))).toEqual([])
  })

  test('reports a route without a line', () => {
    const [first] = t.service.routes as [PublicRoute]
    expect(unlisted([...t.service.routes, { ...first, method: 'GET', path: '/letters/{id}' }])).toEqual([
      'GET /letters/{id}: add a line for it to test/foreign-ids/table.ts, with a verdict for each kind of key',
    ])
  })

  test('relies on routes that declare the kind of every id in their path, so that a wrong prefix is not found', () => {
    for (const [name, route] of routes) {
      const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      expect([...Object.keys(route.params ?? {}), ...Object.keys(route.positions ?? {})], name).toEqual(inPath)
    }
  })

  test('lists every id that a query or a body can contain', () => {
    const idsIn = (schema: Schema | undefined, resolve: Resolve): string[] => {
      const text = JSON.stringify(schema ?? {})
      const parts = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map((match) => resolve(match[1] as string))
      const fields = [...text.matchAll(/"((?:\w+_)?ids?)":\{/g)].map((match) => match[1] as string)
      // A content id is the caller's own name for an image in the same email.
      return [...fields.filter((field) => field !== 'content_id'), ...parts.flatMap((part) => idsIn(part, resolve))]
    }
    for (const [name, route] of routes) {
      const entry = entryOf(route)
      const found = new Set([
        ...(entry?.query ?? []).map((parameter) => parameter.name).filter((field) => /(^|_)ids?$/.test(field)),
        ...idsIn(entry?.body, surface.resolve),
      ])
      expect([...found].sort(), `${name}: list it under names in test/foreign-ids/table.ts`).toEqual(
        Object.keys(lineOf(route).names ?? {}).sort(),
      )
    }
  })
})

describe.for(withId)('%s', ([, route]) => {
  const [param, kind] = paramOf(route) as [string, IdKind]

  test.for(kinds)(
    'X-054 X-177 XD-09 reveals no foreign rows to a %s, except for the 403s in the table',
    async (caller) => {
      const verdict = verdictOf(route, caller)
      const key = callers[caller]
      const unknown = await unknownIds(kind)
      const others = await foreignRows(caller, kind, lineOf(route))
      const never = newId(kind)
      await leavesNoTrace(async () => {
        const baseline = await call(route, key, { [param]: never })
        expectUnknown(baseline, route, verdict, never)
        const parts = fixedParts(baseline, never)
        for (const id of unknown) expect(fixedParts(await call(route, key, { [param]: id }), id), id).toEqual(parts)
        if (verdict === 'open') return
        for (const id of others) {
          const reply = await call(route, key, { [param]: id })
          if (typeof verdict === 'object' && 'refused' in verdict) expectRefusal(reply, verdict.refused)
          else expect(fixedParts(reply, id), id).toEqual(parts)
        }
      })
      if (verdict !== 'open') return
      for (const id of others) expect([403, 404]).not.toContain((await call(route, key, { [param]: id })).status)
    },
  )

  test('XD-09 reveals no row to keys of another org', async () => {
    const theirs = {
      liveKey: away.keys.live,
      testKey: away.keys.test,
      tenantKey: await t.key(away.org.id, { tenantId: await t.tenant(away.org.id) }),
      projectKey: await t.key(away.org.id, { projectId: awayKeys.projectId }),
    }
    const ids = [
      ...(await inEachState(kind, { orgId, channel: lineOf(route).channel })),
      await rowOf(kind, { orgId, channel: lineOf(route).channel, environment: 'test', tenantId: own }),
    ]
    await leavesNoTrace(async () => {
      for (const caller of kinds) {
        const verdict = verdictOf(route, caller)
        for (const id of ids) {
          expectUnknown(await call(route, theirs[caller], { [param]: id }), route, verdict, id)
        }
      }
    })
  })
})

test.for(withId.filter(([, route]) => lineOf(route).ofNoTenant === 'open'))(
  'XD-09 %s allows a tenant key on a row of no tenant',
  async ([, route]) => {
    const [param, kind] = paramOf(route) as [string, IdKind]
    const id = await rowOf(kind, { orgId, tenantId: null })
    expect((await call(route, callers.tenantKey, { [param]: id })).status).toBe(200)
  },
)

describe.for(withoutId)('%s', ([, route]) => {
  test.for(kinds)('X-180 X-201 X-202 admits a %s, or refuses it with the code in the table', async (caller) => {
    await resetKeyCreationLimit(t)
    const verdict = verdictOf(route, caller)
    if (typeof verdict === 'object') {
      if (!('barred' in verdict)) throw new Error('a route without an id needs a `barred` verdict')
      expectRefusal(await leavesNoTrace(() => call(route, callers[caller], {})), verdict.barred)
      return
    }
    const reply = await call(route, callers[caller], {})
    expect(reply.status < 300 || /(^|_)NOT_FOUND$/.test(reply.body.error.code), reply.text).toBe(true)
  })
})

const naming = routes.flatMap(([name, route]) =>
  Object.entries(lineOf(route)?.names ?? {}).flatMap(([field, named]) =>
    named.in.map((place) => [`${name} ${field} in the ${place}`, route, field, named, place] as const),
  ),
)

describe.for(naming)('%s', ([, route, field, named, place]) => {
  test.for(['liveKey', 'testKey', 'tenantKey'] as const)(
    'X-019 XD-09 reveals no foreign rows to a %s, except for the 403s in the table',
    async (caller) => {
      await resetKeyCreationLimit(t)
      const [param, kind] = paramOf(route) ?? []
      const mine = {
        orgId,
        tenantId: caller === 'tenantKey' ? own : null,
        environment: caller === 'testKey' ? ('test' as const) : ('live' as const),
      }
      const target: Record<string, string> = param && kind ? { [param]: await rowOf(kind, mine) } : {}
      const send = (id: string) => {
        const query = place === 'query' ? `${field}=${id}` : ''
        const foreign = { [field]: named.list ? [id] : id }
        const rest = named.alone ? {} : lineOf(route).body
        const body = place === 'body' ? { ...rest, ...foreign } : lineOf(route).body
        return call(route, callers[caller], target, { query, ...(body && { body }) })
      }
      const unknown = (await unknownIds(named.kind)).filter((id) => id !== '%00')
      const theirs = await rowOf(named.kind, { orgId, tenantId: sibling })
      const verdict = (caller !== 'liveKey' && named[caller]) || 'open'
      await leavesNoTrace(async () => {
        const baseline = await send(newId(named.kind))
        const barred = typeof verdict === 'object' && 'barred' in verdict
        const expected = barred ? verdict.barred : named.unknown
        if (expected === 'an empty list') expect([baseline.status, baseline.body.data]).toEqual([200, []])
        else if (typeof expected === 'object') expect(baseline.body.data[0].error.code).toBe(expected.item)
        else expect(baseline.body.error.code).toBe(expected)
        for (const id of unknown) expect(fixedParts(await send(id)), id).toEqual(fixedParts(baseline))
        if (verdict === 'open') return
        const reply = await send(theirs)
        if (typeof verdict === 'object' && 'refused' in verdict) expectRefusal(reply, verdict.refused)
        else expect(fixedParts(reply)).toEqual(fixedParts(baseline))
      })
    },
  )
})

describe('Lists', () => {
  /** Ids from every table that has the columns of the condition. */
  const idsWhere = async (condition: string, columns: string[], ...params: unknown[]): Promise<string[]> => {
    const tables = await t.database.sql<{ name: string }>(
      `select table_name as name from information_schema.columns
       where table_schema = 'public' and column_name = any($1)
       group by table_name having count(*) = $2`,
      [['id', ...columns], columns.length + 1],
    )
    const found = await Promise.all(
      tables.map(({ name }) => t.database.sql<{ id: string }>(`select id from "${name}" where ${condition}`, params)),
    )
    return found.flat().map(({ id }) => id)
  }
  const lists = withoutId.filter(([, { method }]) => method === 'GET')
  const shown = async (route: PublicRoute, key: string): Promise<string> => {
    const pages = entryOf(route)?.query.some(({ name }) => name === 'limit')
    return (await call(route, key, {}, { query: pages ? 'limit=100' : '' })).text
  }

  test('X-036 X-054 XD-09 show no id of another org, tenant, environment or project', async () => {
    const theirs = await idsWhere('org_id = $1', ['org_id'], away.org.id)
    const ofOthers = [
      ...(await idsWhere('org_id = $1 and tenant_id is distinct from $2', ['org_id', 'tenant_id'], orgId, own)),
      ...(await t.database.sql<{ id: string }>('select id from tenants where id <> $1', [own])).map(({ id }) => id),
    ]
    const ofNoTenant = new Set(await idsWhere('org_id = $1 and tenant_id is null', ['org_id', 'tenant_id'], orgId))
    const liveKeys = await t.database.sql<{ id: string }>(
      "select id from api_keys where org_id = $1 and environment = 'live'",
      [orgId],
    )
    const outside = await t.database.sql<{ id: string }>(
      `select id from api_keys where org_id = $1 and project_id is distinct from $2
       union all select id from domains where org_id = $1 and project_id <> $2
       union all select id from projects where org_id = $1 and id <> $2`,
      [orgId, inProject],
    )
    const forbidden: Record<Kind, string[]> = {
      liveKey: theirs,
      testKey: [...theirs, ...liveKeys.map(({ id }) => id)],
      tenantKey: [...theirs, ...ofOthers],
      projectKey: [...theirs, ...outside.map(({ id }) => id)],
    }
    for (const caller of kinds) {
      expect(forbidden[caller].length).toBeGreaterThan(10)
      for (const [name, route] of lists) {
        const text = await shown(route, callers[caller])
        const mayShow = (id: string) =>
          caller === 'tenantKey' && lineOf(route).ofNoTenant === 'open' && ofNoTenant.has(id)
        expect(
          forbidden[caller].filter((id) => text.includes(id) && !mayShow(id)),
          `${name} ${caller}`,
        ).toEqual([])
      }
    }
    // The lists are not empty.
    const some = await shown(lists.find(([name]) => name === 'GET /keys')?.[1] as PublicRoute, callers.liveKey)
    expect(some).toContain(await keyIdOf(t, home.keys.live))
  })
})
