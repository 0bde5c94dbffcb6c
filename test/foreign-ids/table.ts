/** The expected response for each route and kind of key when a request names a foreign id. Add a line for a new route. */
import type { PublicRoute } from '../../src/interfaces/http/route.ts'
import type { Code } from '../../src/platform/ground/errors.ts'
import { type IdKind, newId } from '../../src/platform/ground/ids.ts'
import { campaignOf, completeBrand } from '../clients/sender-client.ts'

/** `hidden`: as if the row did not exist. `open`: the route does not separate such rows. Otherwise a 403 with a reason. */
export type Verdict =
  | 'hidden'
  | 'open'
  | { refused: Code; why: string }
  /** Refused before any id is read, regardless of the id. */
  | { barred: Code; why: string }

export type Named = {
  kind: IdKind
  in: ('body' | 'query')[]
  /** The field is a list. */
  list?: true
  /** The field replaces the rest of the body. */
  alone?: true
  /** The response for an id that never existed. */
  unknown: Code | 'an empty list' | { item: Code }
  tenantKey: Verdict
  /** Open by default. */
  testKey?: Verdict
}

export type Line = {
  /** A valid body. */
  body?: Record<string, unknown> | (() => Record<string, unknown>)
  query?: string
  /** A tenant key: on a row of another tenant, or on the route itself. */
  tenantKey: Verdict
  /** A tenant key: on a row of no tenant, if that differs from a row of another tenant. */
  ofNoTenant?: Verdict
  /** A test key: on a row that is live or that a live key created, or on the route itself. */
  testKey: Verdict
  /** A key of one project: on a row of another project. */
  projectKey: Verdict
  /** A live key: on a simulated row. Open by default. */
  liveKey?: Verdict
  /** The channel of the messages that the route is about. Email by default. */
  channel?: 'sms'
  /** The body of the 200 for an id that never existed, without that id. A 404 by default. */
  unknownBody?: Record<string, unknown>
  /** Ids in the query or the body, by field. */
  names?: Record<string, Named>
}

const writeToAnotherTenant = {
  refused: 'TENANT_FORBIDDEN',
  why: "X-037, XD-09: a write to another tenant's row",
} as const
const routeOfAnotherTenant = {
  refused: 'TENANT_FORBIDDEN',
  why: "XD-09: another tenant's own route",
} as const
const namesAnotherTenant = {
  barred: 'TENANT_FORBIDDEN',
  why: 'XD-09: a body or query that names another tenant, whether it exists or not',
} as const
const liveKey = { refused: 'ENVIRONMENT_ESCALATION', why: 'X-031: a test key on a live key' } as const
const madeLive = {
  refused: 'ENVIRONMENT_ESCALATION',
  why: 'XD-10: a shared row that a live key created',
} as const
const poolsAreLive = { barred: 'ENVIRONMENT_ESCALATION', why: 'XD-21: live keys only' } as const
const liveOnly = { barred: 'ENVIRONMENT_ESCALATION', why: 'X-053: affects live data with any key' } as const
const platformOnly = { barred: 'TENANT_KEY_FORBIDDEN', why: 'X-043, XD-09: platform-only' } as const

const shared = { testKey: 'open', projectKey: 'open' } as const
const onTenant = { testKey: madeLive, projectKey: 'open', tenantKey: platformOnly } as const

/** Messages are separated by environment, tenant and project, and a message that a key cannot read is not found. */
const onMessage = { testKey: 'hidden', projectKey: 'hidden', liveKey: 'hidden' } as const
const mail = () => ({ from: 'hello@example.test', to: ['ada@example.com'], subject: 'Hello', text: 'Hello' })
/** Inserted for the walk, because a message to India needs one. */
export const ownDltTemplate = newId('dltTemplate')
/** The slug of a template of the org. */
export const ownSmsTemplate = 'own-sms-template'
const sms = (to: string | string[]) => ({ from: 'TIDINGS', to, body: 'Hello', dlt_template_id: ownDltTemplate })
const verification = {
  channel: 'sms',
  to: '+919876543210',
  from: 'TIDINGS',
  template: 'Hello {{code}}',
  dlt_template_id: ownDltTemplate,
}
/** DLT templates belong to the org, whatever the tenant. */
const namesDltTemplate = (unknown: Named['unknown']): Line['names'] => ({
  dlt_template_id: { kind: 'dltTemplate', in: ['body'], unknown, tenantKey: 'open' },
})
const onDomain = { tenantKey: writeToAnotherTenant, testKey: madeLive, projectKey: 'hidden' } as const
const onIpPool = {
  tenantKey: platformOnly,
  projectKey: 'open',
  testKey: poolsAreLive,
} as const

const simulatedOnly = {
  refused: 'ENVIRONMENT_ESCALATION',
  why: 'SD-09: a test key on a live brand, campaign or number',
} as const
/** Brands and campaigns belong to the whole org. A tenant may read them, and may not change them. */
const onRegistration = { tenantKey: writeToAnotherTenant, testKey: simulatedOnly, projectKey: 'open' } as const

/** Rows of the org that the valid bodies below name. */
export const namedRows = {
  phoneNumber: 'num_00000000000000000000000000',
  dltEntity: 'dle_00000000000000000000000000',
  dltHeader: 'dlh_00000000000000000000000000',
} as const

const namesSenders = {
  kind: 'phoneNumber',
  in: ['body'],
  list: true,
  unknown: 'VALIDATION_ERROR',
  tenantKey: 'hidden',
} satisfies Named
const onPool = { tenantKey: writeToAnotherTenant, testKey: madeLive, projectKey: 'open' } as const

/** Registrations belong to the whole org. A tenant may read them. */
const onDlt = { tenantKey: platformOnly, testKey: madeLive, projectKey: 'open' } as const
const inDltCategory = { category: 'transactional' } as const

/** Contacts and audiences of another tenant, or of none, do not exist for a tenant key that reads. */
const onAudience = { tenantKey: writeToAnotherTenant, testKey: madeLive, projectKey: 'open' } as const

export const table: Record<string, Line> = {
  'GET /inbound': { ...shared, tenantKey: 'open' },
  'GET /inbound/{id}': { ...shared, tenantKey: 'hidden' },
  'POST /audiences/{id}/send': {
    ...shared,
    tenantKey: writeToAnotherTenant,
    body: { channel: 'sms', from: 'TIDINGS', template: ownSmsTemplate, dlt_template_id: ownDltTemplate },
    names: namesDltTemplate('DLT_TEMPLATE_NOT_FOUND'),
  },
  'GET /jobs': { ...shared, tenantKey: 'open' },
  'GET /jobs/{id}': { ...onMessage, tenantKey: 'hidden' },
  'DELETE /jobs/{id}': { ...onMessage, tenantKey: writeToAnotherTenant },
  'POST /audiences': { ...shared, tenantKey: 'open', body: { name: 'made' } },
  'GET /audiences': { ...shared, tenantKey: 'open' },
  'GET /audiences/{id}': { ...shared, tenantKey: 'hidden' },
  'DELETE /audiences/{id}': onAudience,
  'POST /audiences/{id}/contacts': {
    ...onAudience,
    body: { email: 'made@example.com' },
    names: {
      contact_id: { kind: 'contact', in: ['body'], alone: true, unknown: 'NOT_FOUND', tenantKey: 'hidden' },
    },
  },
  'GET /audiences/{id}/contacts': { ...shared, tenantKey: 'hidden' },
  'DELETE /audiences/{id}/contacts/{contact_id}': onAudience,
  'POST /audiences/{id}/import-csv': { ...onAudience, body: { csv: 'email\nmade@example.com\n' } },
  'GET /audiences/{id}/export-csv': { ...shared, tenantKey: 'hidden' },
  'POST /contacts': { ...shared, tenantKey: 'open', body: { email: 'made@example.com' } },
  'GET /contacts': { ...shared, tenantKey: 'open' },
  'GET /contacts/{id}': { ...shared, tenantKey: 'hidden' },
  'PATCH /contacts/{id}': { ...onAudience, body: { name: 'changed' } },
  'DELETE /contacts/{id}': onAudience,
  'GET /inbound/{id}/attachments/{position}': { ...shared, tenantKey: 'hidden' },
  'POST /brands': { ...shared, tenantKey: platformOnly, body: completeBrand },
  'GET /brands': { ...shared, tenantKey: 'open' },
  'GET /brands/{id}': { ...shared, tenantKey: 'open' },
  'PATCH /brands/{id}': {
    ...onRegistration,
    testKey: { refused: 'BRAND_IS_LIVE_MODE', why: 'X-255: a code of its own' },
    body: { city: 'Rome' },
  },
  'DELETE /brands/{id}': onRegistration,
  'POST /campaigns': {
    ...shared,
    tenantKey: platformOnly,
    body: campaignOf('brd_00000000000000000000000000'),
    names: {
      brand_id: { kind: 'brand', in: ['body'], unknown: 'BRAND_NOT_FOUND', tenantKey: platformOnly },
    },
  },
  'GET /campaigns': { ...shared, tenantKey: 'open' },
  'GET /campaigns/{id}': { ...shared, tenantKey: 'open' },
  'DELETE /campaigns/{id}': onRegistration,
  'POST /phone-numbers': {
    ...shared,
    tenantKey: platformOnly,
    body: { iso_country: 'US', type: 'longcode', campaign_id: 'cmp_00000000000000000000000000' },
    names: {
      campaign_id: { kind: 'campaign', in: ['body'], unknown: 'CAMPAIGN_NOT_FOUND', tenantKey: platformOnly },
      // Not an id of a row: the name that recipients see.
      sender_id: { kind: 'phoneNumber', in: [], unknown: 'VALIDATION_ERROR', tenantKey: platformOnly },
    },
  },
  'GET /phone-numbers': { ...shared, tenantKey: 'open', ofNoTenant: 'open' },
  'GET /phone-numbers/{id}': { ...shared, tenantKey: 'hidden', ofNoTenant: 'open' },
  'PATCH /phone-numbers/{id}': {
    ...onRegistration,
    body: { campaign_id: 'cmp_00000000000000000000000000' },
    names: {
      campaign_id: { kind: 'campaign', in: ['body'], unknown: 'CAMPAIGN_NOT_FOUND', tenantKey: 'open' },
    },
  },
  'DELETE /phone-numbers/{id}': onRegistration,
  'POST /pools': {
    ...shared,
    tenantKey: { barred: 'TENANT_FORBIDDEN', why: 'XD-09: a tenant key does not bind a sender of the org' },
    // Each request needs a new slug.
    get body() {
      const slug = newId('pool').replace('_', '-')
      return { slug, name: 'made', phone_number_ids: [namedRows.phoneNumber] }
    },
    names: {
      tenant_id: { kind: 'tenant', in: ['body'], unknown: 'VALIDATION_ERROR', tenantKey: namesAnotherTenant },
      phone_number_ids: namesSenders,
    },
  },
  'GET /pools': { ...shared, tenantKey: 'open', ofNoTenant: 'open' },
  'GET /pools/{id}': { ...shared, tenantKey: 'hidden', ofNoTenant: 'open' },
  'PATCH /pools/{id}': { ...onPool, body: { name: 'changed' }, names: { phone_number_ids: namesSenders } },
  'DELETE /pools/{id}': onPool,
  'POST /dlt/entities': {
    ...shared,
    tenantKey: platformOnly,
    body: { entity_id: '1101234567890123456', legal_name: 'made' },
    // Issued by an operator in India, and not an id of a row.
    names: { entity_id: { kind: 'dltEntity', in: [], unknown: 'VALIDATION_ERROR', tenantKey: platformOnly } },
  },
  'GET /dlt/entities': { ...shared, tenantKey: 'open' },
  'GET /dlt/entities/{id}': { ...shared, tenantKey: 'open' },
  'DELETE /dlt/entities/{id}': onDlt,
  'POST /dlt/headers': {
    ...shared,
    tenantKey: platformOnly,
    body: { ...inDltCategory, entity: namedRows.dltEntity, header: 'MADE' },
  },
  'GET /dlt/headers': { ...shared, tenantKey: 'open' },
  'GET /dlt/headers/{id}': { ...shared, tenantKey: 'open' },
  'DELETE /dlt/headers/{id}': onDlt,
  'POST /dlt/templates': {
    ...shared,
    tenantKey: platformOnly,
    body: {
      ...inDltCategory,
      entity: namedRows.dltEntity,
      header: namedRows.dltHeader,
      name: 'made',
      content: 'Hello',
    },
  },
  'GET /dlt/templates': { ...shared, tenantKey: 'open' },
  'GET /dlt/templates/{id}': { ...shared, tenantKey: 'open' },
  'DELETE /dlt/templates/{id}': onDlt,
  'POST /emails': {
    ...shared,
    tenantKey: 'open',
    body: mail,
    projectKey: { barred: 'DOMAIN_NOT_ALLOWED_FOR_KEY', why: "XD-18: sends from its own project's domains" },
  },
  'POST /emails/batch': { ...shared, tenantKey: 'open', body: mail },
  'GET /emails': { ...shared, tenantKey: 'open' },
  'GET /emails/{id}': { ...onMessage, tenantKey: 'hidden' },
  'DELETE /emails/{id}': { ...onMessage, tenantKey: writeToAnotherTenant },
  'POST /sms': {
    ...shared,
    tenantKey: 'open',
    body: sms('+919876543210'),
    names: namesDltTemplate('DLT_TEMPLATE_NOT_FOUND'),
  },
  'POST /sms/batch': {
    ...shared,
    tenantKey: 'open',
    body: sms(['+919876543210']),
    names: namesDltTemplate({ item: 'DLT_TEMPLATE_NOT_APPROVED' }),
  },
  'GET /sms': { ...shared, tenantKey: 'open' },
  'GET /sms/{id}': { ...onMessage, channel: 'sms', tenantKey: 'hidden' },
  'DELETE /sms/{id}': { ...onMessage, channel: 'sms', tenantKey: writeToAnotherTenant },
  'POST /verifications': {
    ...shared,
    tenantKey: 'open',
    body: verification,
    names: namesDltTemplate('DLT_TEMPLATE_NOT_FOUND'),
  },
  'POST /verifications/{id}/check': {
    tenantKey: 'hidden',
    testKey: 'hidden',
    projectKey: 'hidden',
    body: { code: '000000' },
    unknownBody: { status: 'denied', reason: 'not_found' },
  },
  'POST /domains': {
    ...shared,
    tenantKey: 'open',
    // Each request needs a new name.
    get body() {
      return { name: `${newId('domain').replace('_', '-')}.example` }
    },
    names: {
      tenant_id: { kind: 'tenant', in: ['body'], unknown: 'VALIDATION_ERROR', tenantKey: namesAnotherTenant },
      project_id: { kind: 'project', in: ['body'], unknown: 'VALIDATION_ERROR', tenantKey: 'open' },
    },
  },
  'GET /domains': { ...shared, tenantKey: 'open' },
  'GET /domains/{id}': { tenantKey: 'hidden', testKey: 'open', projectKey: 'hidden' },
  'POST /domains/{id}/verify': onDomain,
  'PATCH /domains/{id}': {
    ...onDomain,
    body: { inbound: true },
    names: {
      ip_pool_id: {
        kind: 'ipPool',
        in: ['body'],
        unknown: 'VALIDATION_ERROR',
        tenantKey: platformOnly,
        testKey: poolsAreLive,
      },
    },
  },
  'DELETE /domains/{id}': onDomain,
  'POST /domains/{id}/warmup': { ...onDomain, body: { days: 3 } },
  'DELETE /domains/{id}/warmup': onDomain,
  'POST /ip-pools': { ...onIpPool, body: { name: 'made' } },
  'GET /ip-pools': onIpPool,
  'GET /ip-pools/{id}': onIpPool,
  'PATCH /ip-pools/{id}': { ...onIpPool, body: { paused: true } },
  'DELETE /ip-pools/{id}': onIpPool,
  'POST /keys': {
    ...shared,
    body: { name: 'made' },
    tenantKey: 'open',
    names: {
      tenant_id: { kind: 'tenant', in: ['body'], unknown: 'VALIDATION_ERROR', tenantKey: namesAnotherTenant },
      project_id: { kind: 'project', in: ['body'], unknown: 'VALIDATION_ERROR', tenantKey: 'open' },
      allowed_domain_ids: {
        kind: 'domain',
        in: ['body'],
        list: true,
        unknown: 'VALIDATION_ERROR',
        tenantKey: 'open',
      },
    },
  },
  'GET /keys': {
    ...shared,
    tenantKey: 'open',
    names: {
      tenant_id: { kind: 'tenant', in: ['query'], unknown: 'an empty list', tenantKey: namesAnotherTenant },
    },
  },
  'GET /keys/{id}': { tenantKey: 'hidden', testKey: 'hidden', projectKey: 'hidden' },
  'PATCH /keys/{id}': {
    body: { name: 'changed' },
    tenantKey: writeToAnotherTenant,
    testKey: liveKey,
    projectKey: 'hidden',
    names: {
      tenant_id: { kind: 'tenant', in: ['body'], unknown: 'VALIDATION_ERROR', tenantKey: namesAnotherTenant },
      allowed_domain_ids: {
        kind: 'domain',
        in: ['body'],
        list: true,
        unknown: 'VALIDATION_ERROR',
        tenantKey: 'open',
      },
    },
  },
  'DELETE /keys/{id}': { tenantKey: writeToAnotherTenant, testKey: liveKey, projectKey: 'hidden' },
  'POST /projects': {
    body: { name: 'made' },
    tenantKey: platformOnly,
    testKey: 'open',
    projectKey: { barred: 'PROJECT_SCOPED_KEY', why: 'X-056: a project key cannot create projects' },
  },
  'GET /projects': { ...shared, tenantKey: 'open' },
  'GET /projects/{id}': { tenantKey: 'open', testKey: 'open', projectKey: 'hidden' },
  'PATCH /projects/{id}': {
    body: { name: 'changed' },
    tenantKey: platformOnly,
    testKey: madeLive,
    projectKey: 'hidden',
  },
  'DELETE /projects/{id}': { tenantKey: platformOnly, testKey: madeLive, projectKey: 'hidden' },
  'POST /suppressions': {
    ...shared,
    tenantKey: 'open',
    body: { channel: 'email', value: 'somebody@example.com' },
  },
  'GET /suppressions': { ...shared, tenantKey: 'open' },
  'GET /suppressions/{id}': { ...shared, tenantKey: 'hidden' },
  'DELETE /suppressions/{id}': { tenantKey: writeToAnotherTenant, testKey: madeLive, projectKey: 'open' },
  'DELETE /suppressions': {
    query: 'channel=email&value=nobody@example.com',
    tenantKey: 'open',
    testKey: 'open',
    projectKey: 'open',
    names: {
      id: {
        kind: 'suppression',
        in: ['query', 'body'],
        unknown: 'NOT_FOUND',
        tenantKey: writeToAnotherTenant,
      },
    },
  },
  'POST /templates': {
    ...shared,
    tenantKey: 'open',
    body: () => ({ slug: newId('template').replace('_', '-'), channel: 'sms', text: 'Hello' }),
  },
  'GET /templates': { ...shared, tenantKey: 'open', ofNoTenant: 'open' },
  'GET /templates/{id}': { ...shared, tenantKey: 'hidden', ofNoTenant: 'open' },
  'PATCH /templates/{id}': {
    body: { text: 'changed' },
    tenantKey: writeToAnotherTenant,
    testKey: madeLive,
    projectKey: 'open',
  },
  'DELETE /templates/{id}': { tenantKey: writeToAnotherTenant, testKey: madeLive, projectKey: 'open' },
  'POST /templates/preview': {
    ...shared,
    tenantKey: 'open',
    body: { slug: 'not-there' },
    names: {
      id: { kind: 'template', in: ['body'], alone: true, unknown: 'NOT_FOUND', tenantKey: 'hidden' },
    },
  },
  'POST /tenants': {
    ...shared,
    body: { name: 'made' },
    tenantKey: { barred: 'TENANT_KEY_CANNOT_CREATE_TENANTS', why: 'X-044: a separate code' },
  },
  'GET /tenants': { ...shared, tenantKey: 'open' },
  'GET /tenants/{id}': { ...shared, tenantKey: routeOfAnotherTenant },
  'PATCH /tenants/{id}': { ...onTenant, body: { name: 'changed' } },
  'DELETE /tenants/{id}': {
    ...onTenant,
    testKey: liveOnly,
    tenantKey: { barred: 'TENANT_KEY_CANNOT_DELETE', why: 'X-044: a separate code' },
  },
  'POST /tenants/{id}/suspend': { ...onTenant, testKey: liveOnly },
  'POST /tenants/{id}/unsuspend': { ...onTenant, testKey: 'open' },
  'POST /tenants/{id}/restore': { ...onTenant, testKey: 'open' },
  'POST /tenants/{id}/erase': { ...onTenant, testKey: liveOnly },
  'PATCH /tenants/{id}/quota': { ...onTenant, body: { sms_monthly: 5 } },
  'POST /emails/{id}/cancel': { ...onMessage, tenantKey: writeToAnotherTenant },
  'POST /webhooks': {
    ...shared,
    tenantKey: 'open',
    body: { url: 'https://8.8.8.8/hook', events: [] },
    names: {
      tenant_id: { kind: 'tenant', in: ['body'], unknown: 'VALIDATION_ERROR', tenantKey: namesAnotherTenant },
    },
  },
  'GET /webhooks': { ...shared, tenantKey: 'open' },
  'GET /webhooks/events': { ...shared, tenantKey: 'open' },
  'GET /webhooks/{id}': { ...shared, tenantKey: 'hidden' },
  'PATCH /webhooks/{id}': {
    body: { description: 'changed' },
    tenantKey: writeToAnotherTenant,
    testKey: madeLive,
    projectKey: 'open',
  },
  'DELETE /webhooks/{id}': { tenantKey: writeToAnotherTenant, testKey: madeLive, projectKey: 'open' },
  'POST /webhooks/{id}/rotate': { tenantKey: writeToAnotherTenant, testKey: liveOnly, projectKey: 'open' },
  'POST /webhooks/{id}/test-fire': { ...shared, tenantKey: writeToAnotherTenant },
  'GET /webhooks/{id}/deliveries': { ...shared, tenantKey: 'hidden' },
  'GET /webhooks/{id}/deliveries/{delivery_id}': { ...shared, tenantKey: 'hidden' },
  'POST /webhooks/{id}/deliveries/{delivery_id}/replay': { ...shared, tenantKey: writeToAnotherTenant },
  'POST /webhooks/{id}/replay-failed': { ...shared, tenantKey: writeToAnotherTenant },
  'GET /analytics': { ...shared, tenantKey: 'open' },
  'GET /usage': { ...shared, tenantKey: 'open' },
  'GET /tenants/{id}/usage': { ...shared, tenantKey: routeOfAnotherTenant },
}

export const nameOf = ({ method, path }: PublicRoute): string => `${method} ${path}`

/** Routes that are missing in the table. */
export const unlisted = (routes: readonly PublicRoute[]): string[] =>
  routes
    .map(nameOf)
    .filter((name) => !(name in table))
    .map((name) => `${name}: add a line for it to test/foreign-ids/table.ts, with a verdict for each kind of key`)
