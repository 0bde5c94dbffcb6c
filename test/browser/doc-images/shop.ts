/** The organisation in the images of the docs: a web shop with templates, messages and figures of past weeks. */
import { domainClient } from '../../clients/domain-client.ts'
import { addPerson, askWith, signIn } from '../../clients/people.ts'
import seedAnalytics from '../seeds/analytics.ts'
import type { Stage } from '../stage.ts'
import { mailHtml, templateHtml } from './shop-mail.ts'

export type Shop = { ownerId: string; messageId: string; templateId: string; domainId: string }

/** Recipient, outcome in the simulator, subject, and how many minutes ago. The first one is opened: its id has its time. */
const emails = [
  ['sofia.rossi@example.com', 'delivered', 'Your order 10482 has shipped', 0],
  ['liam.oconnor@example.net', 'delivered', 'Your receipt from Northwind', 6],
  ['noah.weber@example.org', 'bounced', 'Your order 10477 has shipped', 19],
  ['amelie.dubois@example.com', 'delivered', 'Confirm your email address', 24],
  ['kenji.tanaka@example.net', 'delivered', 'Your receipt from Northwind', 41],
  ['priya.nair@example.com', 'delivered', 'Reset your password', 58],
  ['lucas.silva@example.org', 'delivered', 'Your order 10469 has shipped', 73],
  ['hannah.larsen@example.com', 'delivered', 'Your refund is on its way', 96],
  ['omar.haddad@example.net', 'delivered', 'Your receipt from Northwind', 110],
  ['grace.kim@example.com', 'delivered', 'Welcome to Northwind', 131],
  ['mateo.garcia@example.org', 'delivered', 'Your order 10455 has shipped', 150],
  ['ella.novak@example.com', 'delivered', 'Your receipt from Northwind', 172],
  ['jonas.berg@example.net', 'delivered', 'Back in stock: oak shelf', 190],
] as const

const sendEmails = async ({ t, org }: Stage): Promise<string> => {
  const ids: string[] = []
  for (const [to, outcome, subject, minutes] of emails) {
    const body = {
      from: 'Northwind <orders@northwind.example>',
      to: [`${outcome}+${ids.length}@simulator.tidings.test`],
      subject,
      html: mailHtml,
      text: subject,
      tags: ['orders'],
    }
    const reply = await t.ask('POST', '/api/v1/emails', { key: org.keys.live, body })
    if (reply.status >= 300) throw new Error(reply.text)
    ids.push(reply.body.id)
    // The simulator decides by the address what becomes of a message, so the shown one is set afterwards.
    await t.database.sql(
      `update messages set to_addresses = array[$3], created_at = created_at - $4 * interval '1 minute',
         status = $5
       where org_id = $1 and id = $2`,
      [org.org.id, reply.body.id, to, minutes, outcome],
    )
  }
  return ids[0] as string
}

const addTemplate = async ({ t, people }: Stage): Promise<string> => {
  const body = {
    slug: 'order-shipped',
    channel: 'email',
    subject: 'Your order {{order}} has shipped',
    html: templateHtml,
    text: 'Order {{order}} arrives on {{day}}.',
  }
  const cookie = await signIn(t, people.owner.userId)
  const reply = await askWith(t, cookie, 'POST', '/api/internal/templates', { body })
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body.id
}

export const openShop = async (stage: Stage): Promise<Shop> => {
  const { t } = stage
  const org = await t.org({ name: 'Northwind' })
  const orgId = org.org.id
  const owner = await addPerson(t, { orgId, role: 'owner', email: 'maya@northwind.example' })
  await t.database.sql(`update users set name = 'Maya Chen' where id = $1`, [owner.userId])
  await t.database.sql(`update domains set name = 'northwind.example' where org_id = $1 and name = 'example.test'`, [
    orgId,
  ])
  const shop = { ...stage, org, people: { ...stage.people, owner } }
  const domainId = await domainClient(t, org).added('news.northwind.example')
  const url = 'https://127.0.0.1/hooks/tidings'
  await t.ask('POST', '/api/v1/webhooks', { key: org.keys.live, body: { url, events: ['domain.verified'] } })
  await seedAnalytics(shop)
  return { ownerId: owner.userId, messageId: await sendEmails(shop), templateId: await addTemplate(shop), domainId }
}
