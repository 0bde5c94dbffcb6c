import { domainClient } from '../../clients/domain-client.ts'
import type { Seed } from '../every-page.ts'
import type { Stage } from '../stage.ts'

const html = `<!doctype html><html><head><style>.box{background:#f4f4f7;padding:24px}h1{font:600 20px sans-serif}</style></head>
<body class="box"><div style="max-width:480px;margin:auto;background:#fff;padding:24px;border-radius:6px">
<h1>Your order has shipped</h1><p style="font:14px/20px sans-serif;color:#444">Hello Ada, parcel 4711 arrives tomorrow.</p>
<p><a href="https://example.com/track" style="color:#4f46e5">Follow it</a></p>
<img src="https://example.com/logo.png" alt="Acme" width="80"><script>document.title = 'bad'</script></div></body></html>`

const textAndReceipt = [
  '--b',
  'Content-Type: text/plain',
  '',
  'Hello, parcel 4711 has not arrived. I attach the receipt.',
  '--b',
  'Content-Type: text/plain',
  'Content-Disposition: attachment; filename=receipt.txt',
  '',
  'Parcel 4711',
]

const rawTo = (domain: string, parts: readonly string[]) =>
  [
    'From: Ada Lovelace <ada@reader.test>',
    `To: help@${domain}`,
    'Subject: Where is my parcel?',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    ...parts,
    '--b--',
    '',
  ].join('\r\n')

/** An email that somebody wrote to a domain of the org. */
export const receiveMail = async ({ t, org }: Stage, domain: string, parts = textAndReceipt): Promise<string> => {
  await domainClient(t, org).added(domain, org.keys.live, { inbound: true })
  await t.ask('POST', '/api/dev/run', { body: { task: 'domains' } })
  const reply = await t.ask('POST', '/api/dev/inbound-email', { body: { raw: rawTo(domain, parts) } })
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.body.id
}

/** A send to an audience that takes an hour. */
export const startJob = async ({ t, org }: Stage, template: string): Promise<string> => {
  const post = async (path: string, body: object) => {
    const reply = await t.ask('POST', `/api/v1${path}`, { key: org.keys.live, body })
    if (reply.status >= 300) throw new Error(reply.text)
    return reply.body
  }
  const { id } = await post('/audiences', { name: `Readers of ${template}` })
  for (const name of ['ann', 'bob', 'cleo']) {
    await post(`/audiences/${id}/contacts`, { email: `delivered+${name}-${template}@simulator.tidings.test`, name })
  }
  await post('/templates', { slug: template, channel: 'email', subject: 'News', text: 'Hello {{name}}' })
  const body = { channel: 'email', from: 'hello@example.test', template, ramp_minutes: 60 }
  return (await post(`/audiences/${id}/send`, body)).job_id
}

/** Messages in every state, a received one, and a job. */
const seedMessages: Seed = async (stage) => {
  const { t, org } = stage
  const received = await receiveMail(stage, 'inbox.acme.test')
  const job = await startJob(stage, 'newsletter-11')
  const key = org.keys.live
  const from = 'hello@example.test'
  const send = async (to: string, subject: string, more: object = {}): Promise<string> => {
    const body = { from, to: [to], subject, text: `${subject}.`, ...more }
    const reply = await t.ask('POST', '/api/v1/emails', { key, body })
    if (reply.status >= 300) throw new Error(reply.text)
    return reply.body.id
  }
  const at = (part: string) => `${part}@simulator.tidings.test`
  const shipped = await send(at('delivered'), 'Your order has shipped', {
    html,
    tags: ['orders'],
    metadata: { order: '4711' },
  })
  await send(at('bounced'), 'Invoice 2026-11')
  await send(at('delivered'), 'Reset your password')
  await send(at('delivered'), 'See you tomorrow', { scheduled_at: new Date(Date.now() + 86_400_000).toISOString() })
  for (const task of ['scheduler', 'webhooks', 'analytics']) await t.ask('POST', '/api/dev/run', { body: { task } })
  return {
    '/messages': [
      '/messages',
      `/messages?open=${shipped}`,
      `/messages?tab=webhooks&open=${shipped}`,
      '/messages?view=scheduled',
      `/messages?view=inbound&open=${received}`,
      `/messages?view=jobs&open=${job}`,
    ],
  }
}

export default seedMessages
