import type { Seed } from '../every-page.ts'

const html = `<!doctype html><html><head><style>.box{background:#f4f4f7;padding:24px}h1{font:600 20px sans-serif}</style></head>
<body class="box"><div style="max-width:480px;margin:auto;background:#fff;padding:24px;border-radius:6px">
<h1>Your order has shipped</h1><p style="font:14px/20px sans-serif;color:#444">Hello Ada, parcel 4711 arrives tomorrow.</p>
<p><a href="https://example.com/track" style="color:#4f46e5">Follow it</a></p>
<img src="https://example.com/logo.png" alt="Acme" width="80"><script>document.title = 'bad'</script></div></body></html>`

/** Messages in every state, by email and SMS. */
const seedMessages: Seed = async ({ t, org }) => {
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
    '/messages': ['/messages', `/messages?open=${shipped}`],
  }
}

export default seedMessages
