/** Sends a page to an audience, or loads the same rows with nothing but COPY. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { build } from '../../src/app/wiring/build.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { newMessageColumns } from '../../src/sending/messages/store/insert-messages.ts'
import { type Filled, fill } from './filled.ts'
import { workBench } from './work.ts'

type Params = { databaseUrl: string; by: 'ours' | 'copy'; recipients: number; others: number }

const styles = 'font-family:Helvetica,Arial,sans-serif;font-size:14px;line-height:20px;color:#333333'
const filler = `<p style="${styles}">Thank you for reading. Our shop is open every day from nine to six.</p>\n`
const html = `<!doctype html><html><body style="${styles}">
<h1>Hello {{first_name}}</h1>
${filler.repeat(11)}<p>From {{city}} it is not far to <a href="https://example.com/{{city}}">our shop</a>.</p>
${filler.repeat(11)}<p><a href="{{unsubscribe_url}}">No more of this</a></p></body></html>
`

const insertAudience = async ({ orgId, log }: Filled, url: string, { recipients, others }: Params): Promise<string> => {
  const db = openDb({ url, log, poolSize: 1 })
  const client = await db.connect()
  await client.query('set statement_timeout = 0')
  const id = newId('audience')
  const at = systemClock.now()
  await client.query(
    `insert into audiences (org_id, id, created_environment, name, slug, member_count, created_at, updated_at)
     values ($1, $2, 'live', 'Bench', $2, $4, $3, $3)`,
    [orgId, id, at, recipients],
  )
  await client.query(
    `insert into contacts (org_id, id, created_environment, name, email, metadata, created_at, updated_at)
     select $1, 'con_' || lpad(i::text, 26, '0'), 'live', 'Reader ' || i, 'reader' || i || '@example.com',
       jsonb_build_object('city', 'City ' || i), $2, $2
     from generate_series(1, $3::int) as i`,
    [orgId, at, recipients + others],
  )
  await client.query(
    `insert into audience_members (org_id, audience_id, contact_id, created_at)
     select $1, $2, 'con_' || lpad(i::text, 26, '0'), $3 from generate_series(1, $4::int) as i`,
    [orgId, id, at, recipients],
  )
  await client.query('vacuum analyze contacts, audience_members')
  await client.end()
  await db.close()
  return id
}

const columns = newMessageColumns.join(', ')

workBench(async (params: Params) => {
  const { databaseUrl, by, recipients } = params
  const filled = await fill(databaseUrl)
  const audienceId = await insertAudience(filled, databaseUrl, params)
  await filled.close()
  const service = await build({ ...filled.config, port: 0 }, databaseUrl, filled.log)
  const url = await service.startApi()
  const call = async (path: string, body: object): Promise<{ scheduled?: number }> => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${filled.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (response.status >= 300) throw new Error(text)
    return JSON.parse(text)
  }
  await call('/templates', { slug: 'bench', channel: 'email', subject: 'News for {{first_name}}', html })
  const later = { scheduled_local: `${systemClock.now().getUTCFullYear() + 1}-01-01T00:00`, scheduled_at_tz: 'UTC' }
  const send = async (): Promise<void> => {
    const message = { channel: 'email', from: 'hello@example.test', template: 'bench', ...later }
    const { scheduled } = await call(`/audiences/${audienceId}/send`, message)
    if (scheduled !== recipients) throw new Error(`${scheduled} messages were scheduled`)
  }
  if (by === 'ours') return { units: 3, one: send, close: service.stop }

  await send()
  const client = await service.db.connect()
  await client.query('set statement_timeout = 0')
  let text = ''
  for await (const chunk of client.query(copyTo(`copy (select ${columns} from messages) to stdout`))) text += chunk
  const rows = text.split('\n').filter((line) => line !== '')
  return {
    units: 3,
    one: async () => {
      // Only the ids differ, which are the second column.
      const lines = rows.map((line) => line.replace(/\tmsg_[0-9a-z]{26}\t/, `\t${newId('message')}\t`))
      const copy = client.query(copyFrom(`copy messages (${columns}) from stdin`))
      const chunks = Array.from({ length: Math.ceil(lines.length / 100) }, (_, i) =>
        Buffer.from(`${lines.slice(i * 100, (i + 1) * 100).join('\n')}\n`),
      )
      await pipeline(Readable.from(chunks), copy)
    },
    close: async () => {
      await client.end()
      await service.stop()
    },
  }
})
