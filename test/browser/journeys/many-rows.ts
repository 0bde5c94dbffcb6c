/** Lists with more rows than one page: details that are opened by their address, and choices in forms. */
import { beforeAll, expect, test } from 'vitest'
import type { CreatedOrg } from '../../../src/app/operator/create-org.ts'
import { mail } from '../../clients/mailer.ts'
import { addPerson, askWith, type Person, signIn } from '../../clients/people.ts'
import { campaignOf, completeBrand } from '../../clients/sender-client.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { copyRow } from '../copy-row.ts'
import { goTo, type Journey, visit } from '../journey.ts'
import type { Stage } from '../stage.ts'

/** The path of each detail, by what it is a detail of, with the id that it has to show. */
type Details = Record<string, readonly [path: string, id: string]>

const fill = async ({ t }: Stage, { org, keys }: CreatedOrg, cookie: string): Promise<Details> => {
  const orgId = org.id
  const post = async (path: string, body: unknown): Promise<string> => {
    const reply = await askWith(t, cookie, 'POST', `/api/internal/${path}`, { body })
    expect([200, 201, 202], reply.text).toContain(reply.status)
    return reply.body.id ?? reply.body.delivery_id
  }
  const copy = (table: string, id: string, unique: Record<string, string> = {}) =>
    copyRow(t, { table, orgId, id, unique })

  const receiver = await startReceiver()
  const webhook = await post('webhooks', { url: receiver.url, events: ['*'] })
  const delivery = await post(`webhooks/${webhook}/test`, { event: 'message.delivered' })
  await receiver.stop()
  await copy('webhook_deliveries', delivery)
  await copy('webhook_endpoints', webhook)
  const key = await post('api-keys', { name: 'First key' })
  await copy('api_keys', key, { name: "'Key ' || n", hash: `'\\x' || md5(r.id || n)` })
  const domain = await post('domains', { name: 'first.example.test' })
  await copy('domains', domain, { name: "'domain-' || n || '.example.test'" })
  const brand = await post('brands', { ...completeBrand, display_name: 'First brand' })
  await copy('brands', brand, { fields: "r.fields || jsonb_build_object('display_name', 'Brand ' || n)" })
  await t.database.sql("update brands set status = 'verified' where org_id = $1", [orgId])
  const campaign = await post('campaigns', campaignOf(brand, { name: 'First campaign' }))
  await copy('campaigns', campaign, { fields: "r.fields || jsonb_build_object('name', 'Campaign ' || n)" })
  const number = await post('phone-numbers', { kind: 'alphanumeric', iso_country: 'GB', sender_id: 'First' })
  await copy('phone_numbers', number, { sender_id: "'Sender' || n" })
  const pool = await post('pools', { name: 'First pool', slug: 'first', phone_number_ids: [number] })
  await copy('pools', pool, { name: "'Pool ' || n", slug: "'pool-' || n" })
  const entity = await post('dlt/entities', { legal_name: 'First entity', entity_id: '1101234567890123456' })
  await copy('dlt_entities', entity, { legal_name: "'Entity ' || n" })
  const header = await post('dlt/headers', { entity, header: 'FIRST', category: 'transactional' })
  await copy('dlt_headers', header)
  const dlt = { entity, header, name: 'First text', category: 'transactional', content: 'Hello {#var#}' }
  const dltTemplate = await post('dlt/templates', dlt)
  await copy('dlt_templates', dltTemplate, { name: "'Text ' || n" })
  const project = await post('projects', { name: 'First project' })
  await copy('projects', project, { name: "'Project ' || n", slug: "'project-' || n" })
  const ipPool = await post('ip-pools', { name: 'First pool', ip_count: 1 })
  await copy('ip_pools', ipPool, { name: "'Pool ' || n" })
  const tenant = await post('tenants', { name: 'First tenant' })
  await copy('tenants', tenant, { name: "'Tenant ' || n", slug: "'tenant-' || n" })
  const template = await post('templates', { slug: 'first', channel: 'email', subject: 'Hello {{name}}', text: 'Hi' })
  await copy('templates', template, { slug: "'template-' || n" })
  const sent = await t.ask('POST', '/api/v1/emails', { key: keys.live, body: mail({ subject: 'First mail' }) })
  expect(sent.status, sent.text).toBe(200)
  await copy('messages', sent.body.id)
  await t.database.sql(
    `insert into users (id, email, name, created_at, updated_at)
     select 'usr_' || lpad(n::text, 26, '0'), 'member-' || n || '@example.test', 'Member ' || n, now(), now()
     from generate_series(1, 120) as n`,
  )
  await t.database.sql(
    `insert into memberships (org_id, id, user_id, role, created_at)
     select $1, 'mem_' || lpad(n::text, 26, '0'), 'usr_' || lpad(n::text, 26, '0'), 'viewer', now()
     from generate_series(1, 120) as n`,
    [orgId],
  )
  const { data: entries } = (await askWith(t, cookie, 'GET', '/api/internal/audit?limit=100')).body
  const entry = entries.at(-1).id
  await copy('audit_entries', entry)
  return {
    'a webhook endpoint': [`/webhooks?tab=settings&open=${webhook}`, webhook],
    'a delivery of an endpoint': [`/webhooks?open=${webhook}&delivery=${delivery}`, delivery],
    'an API key': [`/api-keys?open=${key}`, key],
    'a domain': [`/domains?tab=settings&open=${domain}`, domain],
    'a brand': [`/senders/brands?open=${brand}`, brand],
    'a campaign': [`/senders/brands?tab=campaigns&open=${campaign}`, campaign],
    'a number': [`/senders/numbers?open=${number}`, number],
    'a pool': [`/senders/pools?open=${pool}`, pool],
    'a DLT entity': [`/senders/dlt?open=${entity}`, entity],
    'a DLT header': [`/senders/dlt?tab=headers&open=${header}`, header],
    'a DLT template': [`/senders/dlt?tab=templates&open=${dltTemplate}`, dltTemplate],
    'a project': [`/projects?open=${project}`, project],
    'an IP pool': [`/senders/ips?open=${ipPool}`, ipPool],
    'a tenant': [`/tenants?open=${tenant}`, tenant],
    'a message': [`/messages?open=${sent.body.id}`, sent.body.id],
    'an audit entry': [`/settings/audit?entry=${entry}`, entry],
  }
}

/** Forms with choices: the address, and what is chosen from the end of a list of more than a hundred. */
const choices: readonly (readonly [path: string, label: string, option: string])[] = [
  ['/senders/brands?tab=campaigns&open=new', 'Brand', 'First brand (verified)'],
  ['/senders/dlt?tab=headers&open=new', 'Entity', 'First entity (pending)'],
  ['/senders/dlt?tab=templates&open=new', 'Entity', 'First entity (pending)'],
  ['/messages/new', 'Content', 'first'],
  ['/settings/audit', 'Actor', 'Ann Lee'],
]

const manyRowJourneys: Journey = (stage) => {
  let org: CreatedOrg
  let owner: Person
  let details: Details

  beforeAll(async () => {
    const { t } = stage()
    org = await t.org({ name: 'Many rows', plan: 'enterprise' })
    owner = await addPerson(t, { orgId: org.org.id })
    details = await fill(stage(), org, await signIn(t, owner.userId))
  }, 120_000)

  test('Every detail is shown by its address, whichever page of its list it is on', async () => {
    const page = await stage().openAs(owner.userId)
    await visit(page, '/projects')
    const missing: string[] = []
    for (const [name, [path, id]] of Object.entries(details)) {
      await goTo(page, path)
      const shown = page.getByRole('dialog').getByText(id).first()
      await shown.waitFor({ timeout: 3_000 }).catch(() => missing.push(name))
    }
    expect(missing).toEqual([])
  })

  test('Forms offer every domain, sender, template and person, also beyond the first hundred', async () => {
    const { t, openAs } = stage()
    const cookie = await signIn(t, owner.userId)
    const page = await openAs(owner.userId)
    await visit(page, '/api-keys?create=1')
    await page.getByRole('checkbox', { name: 'first.example.test' }).waitFor()
    for (const [path, label, option] of choices) {
      await goTo(page, path)
      await page
        .getByRole('combobox', { name: label })
        .first()
        .locator('option', { hasText: option })
        .waitFor({ state: 'attached' })
    }
    await goTo(page, '/senders/pools?open=new')
    await page.getByRole('checkbox', { name: 'First (' }).waitFor()
    const audience = await askWith(t, cookie, 'POST', '/api/internal/audiences', { body: { name: 'Everybody' } })
    await goTo(page, `/audiences/${audience.body.id}/send`)
    await page.getByLabel('Template').selectOption({ label: 'first (Email)' })
  })

  test('A tenant among more than a hundred is found by its name, as a filter and for a message', async () => {
    const page = await stage().openAs(owner.userId)
    await visit(page, '/analytics')
    await page.getByRole('searchbox', { name: 'Find a tenant' }).fill('first ten')
    const filter = page.getByRole('combobox', { name: 'Tenant' })
    await filter.selectOption({ label: 'First tenant' })
    await expect.poll(() => new URL(page.url()).searchParams.get('tenant')).toBe(details['a tenant']?.[1])
    // Without the search, the chosen one stays among the choices by its name.
    await visit(page, page.url())
    expect(await filter.locator('option:checked').innerText()).toBe('First tenant')
    await goTo(page, '/messages/new')
    await page.getByRole('searchbox', { name: 'Find a tenant' }).fill('first ten')
    await page.getByRole('combobox', { name: 'Tenant' }).selectOption({ label: 'First tenant' })
  })

  test('An entry of the outbox is shown by its address, and a message with its source, after many others', async () => {
    const { t, openAs } = stage()
    const send = (to: string) => t.ask('POST', '/api/v1/emails', { key: org.keys.live, body: mail({ to: [to] }) })
    const { id } = (await send('first@example.com')).body
    const [entry] = (await t.ask('GET', '/api/dev/outbox?to=first@example.com')).body.data
    for (let nth = 0; nth < 60; nth++) await send('first@example.com')
    const page = await openAs(owner.userId)
    await visit(page, `/outbox?tab=source&open=${entry.id}`)
    await page.getByRole('dialog').getByText(`X-Service-Message-Id: ${id}`).waitFor()
    await goTo(page, `/messages?tab=source&open=${id}`)
    await page.getByRole('dialog').getByText(`X-Service-Message-Id: ${id}`).waitFor()
  })
}

export default manyRowJourneys
