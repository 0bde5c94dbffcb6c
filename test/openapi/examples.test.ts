/** Sends every example of the API description to a running service. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tagTexts } from '../../src/interfaces/http/openapi/prose.ts'
import type { OpenApiDocument } from '../../src/interfaces/http/openapi.ts'
import { sha256 } from '../../src/platform/ground/crypto.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { poll } from '../clients/sender-client.ts'
import { startWebhookService } from '../clients/webhook-client.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import type { Reply, TestService } from '../service/service.ts'
import { operationsOf } from './faults.ts'

let t: TestService
let receiver: Receiver
let document: OpenApiDocument
beforeAll(async () => {
  t = await startWebhookService()
  receiver = await startReceiver()
  document = (await t.ask('GET', '/api/openapi.json')).body
})
afterAll(async () => {
  await t.stop()
  await receiver.stop()
})

type Values = Record<string, string>
type Sent = ReturnType<typeof operationsOf>[number]
type Media = { examples?: Record<string, { value: unknown }> } | undefined

const operation = (id: string): Sent => {
  const found = operationsOf(document).find((one) => one.operation.operationId === id)
  if (!found) throw new Error(`There is no operation ${id}.`)
  return found
}

const valuesOf = (media: Media): unknown[] => Object.values(media?.examples ?? {}).map(({ value }) => value)

const requestsOf = ({ operation }: Sent): unknown[] => {
  const bodies = valuesOf(operation.requestBody?.content['application/json'] as Media)
  return bodies.length > 0 ? bodies : [undefined]
}

/** The default, the first value or the first example of each query parameter. */
const queryOf = ({ method, operation }: Sent): string => {
  const query = new URLSearchParams()
  for (const parameter of operation.parameters ?? []) {
    if ('$ref' in parameter || parameter.in !== 'query' || method !== 'GET') continue
    const { default: normal, enum: values = [], examples = [] } = parameter.schema as Record<string, unknown[]>
    const value = normal ?? values[0] ?? examples[0]
    if (value !== undefined) query.set(parameter.name, String(value))
  }
  return query.size > 0 ? `?${query}` : ''
}

/** Example ids in a request body, which stand for resources of the caller. */
const exampleIds = /\b[a-z]{3}(?=_01k5w3v8q6e9rbx2t7m4n0c1yz\b)/g

/** The body with ids of new resources instead of example ids. */
const withOwnIds = async (key: string, body: unknown): Promise<unknown> => {
  let text = JSON.stringify(body)
  for (const prefix of new Set(text.match(exampleIds))) {
    const make = makeId[prefix]
    if (!make) throw new Error(`Add to makeId how to create ${prefix}_…, which an example needs.`)
    text = text.replaceAll(`${prefix}_01k5w3v8q6e9rbx2t7m4n0c1yz`, await make(key, {}))
  }
  return JSON.parse(text)
}

const send = async (key: string, sent: Sent, params: Values, body: unknown): Promise<Reply> =>
  t.ask(
    sent.method,
    sent.path.replace(/\{(\w+)\}/g, (_, name) => params[name] ?? name) + queryOf(sent),
    body === undefined ? { key } : { key, body: await withOwnIds(key, body) },
  )

/** Calls an operation with its first example, changed by `more`. It must succeed. */
const done = async (key: string, id: string, params: Values = {}, more: object = {}): Promise<Reply['body']> => {
  const sent = operation(id)
  const [body] = requestsOf(sent)
  const reply = await send(key, sent, params, body && { ...body, ...more })
  if (reply.status >= 300) throw new Error(`${id} returned ${reply.status}: ${reply.text}`)
  return reply.body
}

/** The id of a new brand, campaign or number that the registry has approved. */
const verified = async (key: string, operationId: string): Promise<string> => {
  const { id } = await done(key, operationId)
  await poll(t)
  return id
}

/** An audience with one member. */
const insertAudience = async (key: string): Promise<string> => {
  const [id, contactId] = [newId('audience'), newId('contact')]
  const [owner] = await t.database.sql<{ org_id: string }>('select org_id from api_keys where hash = $1', [sha256(key)])
  const common = [owner?.org_id, t.service.clock.now()]
  await t.database.sql(
    `insert into audiences (org_id, created_at, updated_at, created_environment, id, name, slug, member_count)
     values ($1, $2, $2, 'live', $3, 'News', $3, 1)`,
    [...common, id],
  )
  await t.database.sql(
    `insert into contacts (org_id, created_at, updated_at, created_environment, id, name, email)
     values ($1, $2, $2, 'live', $3, 'Ada', 'ada@example.com')`,
    [...common, contactId],
  )
  await t.database.sql(
    'insert into audience_members (org_id, created_at, audience_id, contact_id) values ($1, $2, $3, $4)',
    [...common, id, contactId],
  )
  return id
}

/** How to get an id of each kind, by its prefix. A new kind of id in a path adds its own. */
const makeId: Record<string, (key: string, params: Values) => Promise<string>> = {
  aud: async (key) => (await done(key, 'createAudience')).id,
  brd: (key) => verified(key, 'createBrand'),
  cmp: (key) => verified(key, 'createCampaign'),
  // In a path with an audience, a member of it.
  con: async (key, { id }) => (await (id ? done(key, 'addAudienceMember', { id }) : done(key, 'createContact'))).id,
  // A header and a template of one example belong to the same entity.
  dle: async (key) => (await done(key, 'listDltEntities')).data[0]?.id ?? (await done(key, 'createDltEntity')).id,
  dlh: async (key) => (await done(key, 'createDltHeader')).id,
  dlt: async (key) => (await done(key, 'createDltTemplate')).id,
  dom: async (key) => (await done(key, 'createDomain')).id,
  ipp: async (key) => (await done(key, 'createIpPool')).id,
  ism: async (key) => {
    const number = await done(key, 'getPhoneNumber', { id: await verified(key, 'createPhoneNumber') })
    const message = { from: '+12065550100', to: number.e164, body: 'Hello' }
    return (await t.ask('POST', '/api/dev/inbound-sms', { body: message })).body.id
  },
  job: async (key) => {
    await done(key, 'createTemplate')
    return (await done(key, 'sendToAudience', { id: await insertAudience(key) })).job_id
  },
  key: async (key) => (await done(key, 'createKey')).id,
  msg: async (key) => (await done(key, 'sendEmail')).id,
  num: (key) => verified(key, 'createPhoneNumber'),
  pol: async (key) => (await done(key, 'createPool')).id,
  prj: async (key) => (await done(key, 'createProject')).id,
  sup: async (key) => (await done(key, 'addSuppressions')).id,
  ten: async (key) => (await done(key, 'createTenant')).id,
  tpl: async (key) => (await done(key, 'createTemplate')).id,
  ver: async (key) => (await done(key, 'startVerification')).id,
  whd: async (key, { id = '' }) => (await done(key, 'testWebhook', { id })).delivery_id,
  whe: async (key) => (await done(key, 'createWebhook', {}, { url: receiver.url })).id,
}

type Prepare = (key: string, params: Values) => Promise<Values>

const after =
  (id: string): Prepare =>
  async (key, params) => {
    await done(key, id, params)
    return params
  }

const scheduleEmail: Prepare = async (key) => {
  const at = new Date(t.service.clock.millis() + 3_600_000).toISOString()
  return { id: (await done(key, 'sendEmail', {}, { scheduled_at: at })).id }
}

const scheduleSms: Prepare = async (key) => {
  const at = new Date(t.service.clock.millis() + 3_600_000).toISOString()
  return { id: (await done(key, 'sendSms', {}, { scheduled_at: at })).id }
}

/** What an operation needs besides new resources with the ids in its path. Returns the ids to use. */
const prepare: Record<string, Prepare> = {
  cancelEmail: scheduleEmail,
  cancelEmailByPost: scheduleEmail,
  cancelSms: scheduleSms,
  deleteSuppressionByTarget: after('addSuppressions'),
  eraseTenant: after('archiveTenant'),
  getInboundAttachment: async (key, params) => {
    const to = `help@${(await done(key, 'createDomain', {}, { name: 'files.example.test', inbound: true })).name}`
    await t.ask('POST', '/api/dev/run', { body: { task: 'domains' } })
    const file = ['Content-Type: image/png', 'Content-Disposition: attachment', '', 'content']
    const raw = ['From: ann@example.com', `To: ${to}`, ...file].join('\r\n')
    return { ...params, id: (await t.ask('POST', '/api/dev/inbound-email', { body: { raw } })).body.id }
  },
  getSms: async (key) => ({ id: (await done(key, 'sendSms')).id }),
  previewTemplate: after('createTemplate'),
  restoreTenant: after('archiveTenant'),
  sendEmail: after('createTemplate'),
  sendToAudience: after('createTemplate'),
  unsuspendTenant: after('suspendTenant'),
}

const idsFor = async (key: string, { operation, path }: Sent): Promise<Values> => {
  const params: Values = {}
  for (const parameter of operation.parameters ?? []) {
    if ('$ref' in parameter || parameter.in !== 'path') continue
    if (parameter.schema.type === 'integer') {
      params[parameter.name] = String(parameter.example)
      continue
    }
    const make = makeId[String(parameter.example).slice(0, 3)]
    if (!make) throw new Error(`Add to makeId how to create ${parameter.example}, which ${path} needs.`)
    params[parameter.name] = await make(key, params)
  }
  return (await prepare[operation.operationId]?.(key, params)) ?? params
}

const fieldsOf = (value: unknown): string =>
  Object.keys(value as object)
    .sort()
    .join(' ')

/** The outcome of one example: its status, or what is wrong with the response. */
const outcomeOf = async (sent: Sent, body: unknown): Promise<string> => {
  const { keys } = await t.org()
  const reply = await send(keys.live, sent, await idsFor(keys.live, sent), body)
  const documented = sent.operation.responses[reply.status] as { content?: Record<string, Media> } | undefined
  if (!documented || reply.status >= 300) return `${reply.status} ${reply.text}`
  const file = String(reply.headers['content-type']).split(';', 1)[0] as string
  const { content = {} } = documented
  if (file !== 'application/json') return content[file] || content['*/*'] ? 'ok' : `The response is ${file}.`
  const shown = valuesOf(documented.content?.['application/json']).map(fieldsOf)
  return shown.includes(fieldsOf(reply.body)) ? 'ok' : `The response has other fields than its example: ${reply.text}`
}

/** The outcomes of all examples of a group of operations, by operation. */
const outcomesOf = async (tag: string): Promise<Record<string, string[]>> => {
  const outcomes: Record<string, string[]> = {}
  for (const sent of operationsOf(document)) {
    if (!sent.operation.tags?.includes(tag)) continue
    const found: string[] = []
    for (const body of requestsOf(sent)) found.push(await outcomeOf(sent, body))
    outcomes[sent.operation.operationId] = found
  }
  return outcomes
}

describe('Examples', () => {
  test.each(Object.keys(tagTexts))(
    'Every example of %s succeeds, and its response has the fields of the example response',
    async (tag) => {
      const outcomes = await outcomesOf(tag)
      const works = Object.entries(outcomes).map(([id, found]) => [id, found.map(() => 'ok')])
      expect(outcomes).toEqual(Object.fromEntries(works))
    },
  )

  test('Every operation belongs to one of these groups', () => {
    const tags = operationsOf(document).map(({ operation }) => operation.tags)
    for (const tag of tags) expect(tag).toEqual([expect.toBeOneOf(Object.keys(tagTexts))])
    expect(tags).toHaveLength(t.service.routes.length)
  })

  test('An example that does not work is reported with its status and body', async () => {
    const outcome = await outcomeOf(operation('createDomain'), { name: 'not a domain' })
    expect(outcome).toMatch(/^422 \{"error":\{.*"VALIDATION_ERROR"/)
  })
})
