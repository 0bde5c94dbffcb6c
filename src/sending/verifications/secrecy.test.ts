/** A code is in the message that carries it, and nowhere else. */
import { afterAll, expect, test } from 'vitest'
import { verifier, wrong } from '../../../test/clients/verifier.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { startTestService } from '../../../test/service/service.ts'

const file = await openLogFile()
const t = await startTestService({ log: file.log, worker: true })
afterAll(async () => {
  await t.stop()
  await file.remove()
})

/** Every value of every table, as a backup would contain it. */
const everything = async (): Promise<string> => {
  const tables = await t.database.sql<{ name: string }>(
    `select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
     where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const rows = await t.database.sql<{ text: string }>(`select r::text as text from ${name} r`)
    texts.push(...rows.map(({ text }) => text))
  }
  return texts.join('\n')
}

test('S-025 S-045 S-024 the code is in no table, log line or response, and responses do not name the destination', async () => {
  const own = await verifier(t)
  const shown: string[] = []
  const codes: string[] = []
  for (const start of [own.start, own.startEmail]) {
    // Ten digits do not occur in other data by chance.
    const reply = await start({ code_length: 10 }, { headers: { 'idempotency-key': `secret ${codes.length}` } })
    const { id } = reply.body
    const { to } = await own.handed(id)
    const code = await own.code(id)
    codes.push(code)
    const replies = [reply, await own.check(id, wrong(code)), await own.check(id, code), await own.check(id, code)]
    for (const { text } of replies) {
      shown.push(text)
      expect(text).not.toContain(to[0])
    }
  }
  await t.service.modules.outbox.flushed()
  const stored = await everything()
  // The log is written in the background.
  await expect.poll(() => file.text()).toContain('/check')
  const logged = await file.text()
  expect(stored).toContain(own.orgId)
  expect(logged).toContain('/api/v1/verifications')
  for (const code of codes) {
    expect(code).toMatch(/^\d{10}$/)
    for (const text of [stored, logged, shown.join('\n')]) expect(text).not.toContain(code)
  }
})

test('R-35 the outbox shows a code from memory, by channel and recipient, newest first among other messages', async () => {
  const own = await verifier(t)
  const to = '+447946888888'
  await own.send({ from: 'TIDINGS', to, body: 'first' })
  const id = await own.started({ to })
  await own.send({ from: 'TIDINGS', to, body: 'last' })
  const found = await own.codesSent(`to=${encodeURIComponent(to)}`)
  expect(found.map(({ body, verification_id, message_id }) => [body, verification_id, message_id])).toEqual([
    ['last', null, expect.stringMatching(/^msg_/)],
    [expect.stringMatching(/^Your verification code is \d{6}$/), id, null],
    ['first', null, expect.stringMatching(/^msg_/)],
  ])
  const newest = await own.codesSent(`to=${encodeURIComponent(to)}&limit=1`)
  expect(newest.map(({ body }) => body)).toEqual(['last'])
  expect(await own.codesSent(`channel=email&to=${encodeURIComponent(to)}`)).toEqual([])
  const mail = await own.startEmail({ to: 'Ada.Lovelace@reader.test' })
  const [entry] = await own.codesSent('channel=email&to=ada.lovelace%40reader.test')
  expect(entry).toMatchObject({ verification_id: mail.body.id, raw: expect.stringContaining('Your verification code') })
  expect(await t.database.sql('select 1 from local_outbox where verification_id is not null')).toEqual([])
})
