import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { audienceClient } from '../../../../test/clients/audience-client.ts'
import { keyIdOf } from '../../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { parseCsv } from './parse-csv.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const acme = await t.org()
const orgId = acme.org.id
const client = audienceClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

const csvFault = (message: string) => ({ errors: [{ path: ['csv'], code: 'custom', message }] })
const none = { created: 0, linked: 0, already_members: 0, skipped: 0, errors: [] }
type Shown = { name: string | null; email: string | null; phone: string | null; metadata: object }
const membersOf = async (id: string): Promise<Shown[]> =>
  (await client.members(id, '?limit=100')).body.data
    .map(({ name, email, phone, metadata }: Shown) => ({ name, email, phone, metadata }))
    .reverse()

describe('An import', () => {
  test('S-413 S-415 S-419 A-160 creates contacts with metadata, makes them members and writes one audit entry', async () => {
    const id = await client.made()
    const csv =
      '\ufeff Email ,PHONE,Name,Plan,city\r\n' +
      'ada@csv.example,+14155550100,"Lovelace, Ada",pro,\r\n' +
      '\r\n' +
      'bob@csv.example,,,"said ""hi""\r\ntwice", Rome \n' +
      ',030 123,Phone only,,\r'
    const { result: reply, trail } = await withTrail(t.database, orgId, () => client.importCsv(id, csv))
    expect([reply.status, reply.body]).toEqual([200, { ...none, rows: 3, created: 3 }])
    expect((await membersOf(id)).sort((a, b) => `${a.email}`.localeCompare(`${b.email}`))).toEqual([
      { email: 'ada@csv.example', phone: '+14155550100', name: 'Lovelace, Ada', metadata: { Plan: 'pro' } },
      { email: 'bob@csv.example', phone: null, name: null, metadata: { Plan: 'said "hi"\r\ntwice', city: ' Rome ' } },
      { email: null, phone: '030 123', name: 'Phone only', metadata: {} },
    ])
    expect((await client.get(id)).body.member_count).toBe(3)
    const counts = { rows: 3, created: 3, linked: 0, already_members: 0, skipped: 0 }
    const by = { via: 'api_key', api_key_id: await keyIdOf(t, acme.keys.live) }
    expect(trail).toMatchObject([
      {
        action: 'audience.csv_imported',
        resource_type: 'audience',
        resource_id: id,
        metadata: { ...counts, ...by },
      },
    ])
    expect(trail).toHaveLength(1)
  })

  test('S-413 takes the file in JSON too', async () => {
    const id = await client.made()
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    const reply = await client.importCsv(id, JSON.stringify({ csv: 'email\njson@csv.example\n' }), { headers })
    expect([reply.status, reply.body]).toEqual([200, { ...none, rows: 1, created: 1 }])
  })

  test('S-417 R-30 a row that matches a contact only links it', async () => {
    const id = await client.made()
    const known = (await client.contact({ email: 'Known@csv.example', name: 'Known', metadata: { plan: 'old' } })).body
    const phone = (await client.contact({ phone: '+14155559001' })).body
    const csv =
      'email,phone,name,plan\nKNOWN@csv.example,+14155559002,New,new\n,+14155559001,New,new\nnew@csv.example,,,\n'
    const first = await client.importCsv(id, csv)
    expect(first.body).toEqual({ ...none, rows: 3, created: 1, linked: 2 })
    for (const before of [known, phone]) expect((await client.contactOf(before.id)).body).toEqual(before)
    const again = await client.importCsv(id, csv)
    expect(again.body).toEqual({ ...none, rows: 3, already_members: 3 })
    expect((await client.get(id)).body.member_count).toBe(3)
  })

  test('R-30 a duplicate inside the file counts as a member already, in the order of the rows', async () => {
    const id = await client.made()
    const rows = [
      'dup@csv.example,+14155559100',
      'DUP@csv.example,',
      // The number of the first row.
      ',+14155559100',
      ',+14155559101',
      ',+14155559101',
      // An address is compared before the number, so this is a new contact.
      'other@csv.example,+14155559101',
      // A number that a later row has too.
      ',+14155559102',
      'third@csv.example,+14155559102',
    ]
    const reply = await client.importCsv(id, `email,phone\n${rows.join('\n')}`)
    expect(reply.body).toEqual({ ...none, rows: 8, created: 5, already_members: 3 })
    const members = (await membersOf(id)).map(({ email, phone }) => `${email ?? ''} ${phone ?? ''}`)
    expect(members.sort()).toEqual([
      ' +14155559101',
      ' +14155559102',
      'dup@csv.example +14155559100',
      'other@csv.example +14155559101',
      'third@csv.example +14155559102',
    ])
  })

  test('SD-110 R-30 skips rows that cannot be imported and reports each by its number', async () => {
    const id = await client.made()
    const keys = Array.from({ length: 101 }, (_, i) => `k${i}`)
    const row = (cells: Record<string, string>) =>
      ['email', 'phone', 'name', ...keys].map((column) => cells[column] ?? '').join(',')
    const lines = [
      row({ email: 'fine@csv.example' }),
      row({ name: 'Nobody' }),
      row({ email: 'not an address' }),
      row({ phone: '1'.repeat(33) }),
      row({ email: 'name@csv.example', name: 'n'.repeat(201) }),
      row({ email: 'many@csv.example', ...Object.fromEntries(keys.map((key) => [key, 'v'])) }),
      row({ email: 'long@csv.example', k0: 'v'.repeat(4_097) }),
      row({ email: 'nul@csv.example', k0: '\0' }),
      `${row({ email: 'wide@csv.example' })},more`,
      row({ email: 'last@csv.example', k0: 'v'.repeat(4_096) }),
    ]
    const reply = await client.importCsv(id, `email,phone,name,${keys.join(',')}\n${lines.join('\n')}`)
    expect(reply.body).toEqual({
      ...none,
      rows: 10,
      created: 2,
      skipped: 8,
      errors: [
        { row: 2, message: 'no email or phone' },
        { row: 3, message: 'invalid email' },
        { row: 4, message: 'phone over 32 characters' },
        { row: 5, message: 'name over 200 characters' },
        { row: 6, message: 'more than 100 metadata keys' },
        { row: 7, message: 'a cell over 4,096 characters' },
        { row: 8, message: 'contains a character that cannot be stored' },
        { row: 9, message: 'a cell has no column name' },
      ],
    })
  })

  test('S-417 never subscribes anybody again who has unsubscribed', async () => {
    const id = await client.made()
    const target = { channel: 'email', value: 'gone@csv.example' }
    const { body: suppression } = await t.ask('POST', '/api/v1/suppressions', { key: acme.keys.live, body: target })
    await t.database.sql(
      `update suppressions set reason = 'unsubscribe', unsubscribed_at = created_at, unsubscribe_source = 'one_click'
       where id = $1`,
      [suppression.id],
    )
    const state = () =>
      t.database.sql('select reason, unsubscribed_at, updated_at from suppressions where org_id = $1', [orgId])
    const before = await state()
    for (let round = 0; round < 2; round++) await client.importCsv(id, 'email,subscribed\nGone@csv.example,yes\n')
    expect(await state()).toEqual(before)
    expect((await client.get(id)).body.member_count).toBe(1)
  })

  test('S-418 X-333 takes 10,000 rows, and the import of the same file into another audience only links', async () => {
    const [id, other] = [await client.made(), await client.made()]
    const rows = Array.from({ length: 10_000 }, (_, i) => `row${i}@csv.example,User ${i},${i % 7}`)
    const csv = `email,name,group\n${rows.join('\n')}\n`
    expect((await client.importCsv(id, csv)).body).toEqual({ ...none, rows: 10_000, created: 10_000 })
    expect((await client.importCsv(other, csv)).body).toEqual({ ...none, rows: 10_000, linked: 10_000 })
    for (const audience of [id, other]) expect((await client.get(audience)).body.member_count).toBe(10_000)
  })

  test('S-417 concurrent imports of the same people create each contact once and count exactly', async () => {
    const ids = await Promise.all([client.made(), client.made(), client.made(), client.made()])
    const people = Array.from({ length: 1_500 }, (_, i) => `race${i}@csv.example`)
    const replies = await Promise.all(
      ids.map((id, i) => client.importCsv(id, `email\n${(i % 2 ? people : people.toReversed()).join('\n')}`)),
    )
    for (const { status, text } of replies) expect(status, text).toBe(200)
    const sum = (field: string) => replies.reduce((total, { body }) => total + body[field], 0)
    expect([sum('created'), sum('linked')]).toEqual([1_500, 4_500])
    for (const id of ids) expect((await client.get(id)).body.member_count).toBe(1_500)
  })
})

describe('A refused file', () => {
  test.each([
    ['S-414 a header without email and phone', 'name,plan\nAda,pro\n', 'The header needs a column "email" or "phone".'],
    ['S-414 an empty file', '', 'The header needs a column "email" or "phone".'],
    ['SD-110 a column twice', 'email,Email\na@x.example,b@x.example', 'The header names the column "email" twice.'],
    ['SD-110 an open quote', 'email\nok@x.example\n"open', 'Not valid CSV after row 1: a quote is not closed.'],
    [
      'SD-110 a quote inside a cell',
      'email\na"b',
      'Not valid CSV after row 0: a quote is inside a cell without quotes.',
    ],
    ['SD-110 text after a quote', 'email\n"a"b\n', 'Not valid CSV after row 0: characters follow a closing quote.'],
  ])('%s is 422 and changes nothing', async (_, csv, message) => {
    const id = await client.made()
    await leavesNoTrace(async () =>
      expectRefusal(await client.importCsv(id, csv), 'VALIDATION_ERROR', csvFault(message)),
    )
  })

  test('SD-110 bytes that are not UTF-8 are 422 and change nothing', async () => {
    const id = await client.made()
    const bytes = Buffer.from('email\nm\xfcller@x.example\n', 'latin1')
    await leavesNoTrace(async () =>
      expectRefusal(await client.importCsv(id, bytes), 'VALIDATION_ERROR', csvFault('The file must be UTF-8.')),
    )
  })

  test('R-30 SD-110 another media type is 422 and changes nothing', async () => {
    const id = await client.made()
    await leavesNoTrace(async () => {
      for (const type of ['text/plain', 'application/vnd.ms-excel', 'multipart/form-data; boundary=x']) {
        const reply = await client.importCsv(id, 'email\na@x.example', { headers: { 'content-type': type } })
        expect([reply.status, reply.body.error.errors[0].path], type).toEqual([422, ['headers', 'Content-Type']])
      }
      const json = { headers: { 'content-type': 'application/json' } }
      expect((await client.importCsv(id, '{"file":"email"}', json)).body.error.errors[0].path).toEqual(['csv'])
    })
  })

  test('A-369 S-418 R-30 10,001 rows are 413 and change nothing', async () => {
    const id = await client.made()
    const csv = `email\n${Array.from({ length: 10_001 }, (_, i) => `over${i}@x.example`).join('\n')}`
    await leavesNoTrace(async () =>
      expectRefusal(await client.importCsv(id, csv), 'PAYLOAD_TOO_LARGE', { message: 'CSV has more than 10,000 rows' }),
    )
  })

  test('R-30 a file over 10 MB is 413 and changes nothing', async () => {
    const id = await client.made()
    const message = 'The request body exceeds 10 MB. Send a smaller body.'
    await leavesNoTrace(async () => {
      const reply = await client.importCsv(id, Buffer.alloc(10 * 1_048_576 + 1, 'a'))
      expectRefusal(reply, 'PAYLOAD_TOO_LARGE', { message })
    })
  })

  test('R-30 an unknown audience is 404, whatever the file contains', async () => {
    const missing = 'aud_00000000000000000000000000'
    await leavesNoTrace(async () => {
      for (const csv of ['email\na@x.example', 'name\n']) {
        expectRefusal(await client.importCsv(missing, csv), 'NOT_FOUND')
      }
    })
  })

  test('S-417 an import that fails in the database changes nothing', async () => {
    const id = await client.made()
    await t.database.sql(`create function fail_link() returns trigger language plpgsql as
      $$ begin raise exception 'link failed'; end $$`)
    await t.database.sql(
      'create trigger fail_link before insert on audience_members for each row execute function fail_link()',
    )
    try {
      await leavesNoTrace(async () =>
        expectRefusal(await client.importCsv(id, 'email\natomic@x.example'), 'INTERNAL_ERROR'),
      )
    } finally {
      await t.database.sql('drop function fail_link cascade')
    }
  })
})

describe('A hostile file of 10 MB', () => {
  const size = 10 * 1_048_576
  const filled = (start: string, rest: string) =>
    Buffer.concat([Buffer.from(start), Buffer.alloc(size - start.length, rest)])
  const faultOf = (bytes: Buffer) =>
    parseCsv(bytes).then(
      () => 'accepted',
      (error) => error.detail.errors[0].message,
    )

  test.each([
    ['only commas', filled('email\n', ','), 'A row has more than 20,000 cells.'],
    ['quoted empty cells', filled('email\n', '"",'), 'A row has more than 20,000 cells.'],
    ['a wide header', filled('email,', 'k,'), 'A row has more than 20,000 cells.'],
    [
      'an open quote',
      filled('email\n"', 'a'),
      'Not valid CSV after row 0: the row has more than 1,000,000 characters.',
    ],
    ['only quotes', filled('email\n"', '"'), 'Not valid CSV after row 0: the row has more than 1,000,000 characters.'],
  ])('R-30 of %s is refused before it is read to its end', async (_, bytes, message) => {
    expect(await faultOf(bytes)).toBe(message)
  })

  test('R-30 that is read to its end lets other work run in between', async () => {
    let turns = 0
    let reading = true
    const count = (): void => {
      turns++
      if (reading) setImmediate(count)
    }
    setImmediate(count)
    const file = await parseCsv(filled('email\n', '\n'))
    reading = false
    expect(file).toEqual({ rows: 0, contacts: [], errors: [] })
    expect(turns).toBeGreaterThan(10)
  })
})
