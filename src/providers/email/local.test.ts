import pg from 'pg'
import PostalMime from 'postal-mime'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { dkimKeys, faultOf, testMail, to } from '../../../test/providers/email.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { type Db, openDb } from '../../platform/db/pool.ts'
import { movableClock } from '../../platform/ground/clock.ts'
import { type Log, silentLog } from '../../platform/ground/log.ts'
import { makeOutbox, type Outbox } from '../outbox/local-outbox.ts'
import { makeReadOutbox } from '../outbox/read.ts'
import { insertOutboxEntries } from '../outbox/store.ts'
import { makeLocalProvider } from './local.ts'
import { simulate } from './simulator.ts'

let database: TestDatabase
let db: Db
let outbox: Outbox
const clock = movableClock()
const waits: number[] = []

beforeAll(async () => {
  database = await makeTestDatabase()
  db = openDb({ url: database.url, log: silentLog() })
  outbox = makeOutbox({ db, log: silentLog() })
})
afterAll(async () => {
  await outbox.drained()
  await db.close()
  await database.drop()
})
beforeEach(async () => {
  await outbox.drained()
  await database.sql('delete from local_outbox')
  waits.length = 0
})

const provider = () =>
  makeLocalProvider({
    outbox,
    clock,
    serviceDomain: 'tidings.test',
    wait: async (milliseconds) => {
      waits.push(milliseconds)
    },
  })
const read = (query: Partial<Parameters<ReturnType<typeof makeReadOutbox>>[0]> = {}) =>
  makeReadOutbox({ db, outbox })({ limit: 100, ...query })
const count = async () => {
  await outbox.flushed()
  return Number((await database.sql<{ n: string }>('select count(*) as n from local_outbox'))[0]?.n)
}

describe('the local provider', () => {
  test('stores a mail without its DKIM key and shows it as it would have been sent', async () => {
    const mail = testMail({
      cc: to('cc@reader.test'),
      bcc: to('hidden@reader.test'),
      headers: { 'X-Given': 'a' },
      attachments: [{ filename: 'a.bin', contentType: 'a/b', content: Buffer.from([0, 1, 255]) }],
      dkim: { domain: 'example.test', selector: 's', privateKey: dkimKeys().privateKey },
    })
    const handed = await provider().send(mail)
    expect(handed).toEqual({ provider: 'local', providerMessageId: expect.stringMatching(/^local_msg_/) })
    await outbox.flushed()
    const [row] = await database.sql<{ stored: string }>('select mail::text as stored from local_outbox')
    expect(row?.stored).not.toContain('PRIVATE KEY')
    const [entry, ...others] = await read()
    expect(others).toEqual([])
    const { raw, ...rest } = entry!
    expect(rest).toEqual({
      id: handed.providerMessageId,
      channel: 'email',
      message_id: mail.messageId,
      verification_id: null,
      from: 'Acme <hello@example.test>',
      to: ['ann@reader.test'],
      cc: ['cc@reader.test'],
      bcc: ['hidden@reader.test'],
      subject: 'A subject',
      html: '<p>Hi</p>',
      text: 'Hi',
      headers: { 'X-Given': 'a' },
      body: null,
      media_url: [],
      dlt: null,
      at: expect.stringMatching(/Z$/),
    })
    const parsed = await PostalMime.parse(raw as string)
    expect([parsed.messageId, parsed.date]).toEqual([`<${mail.messageId}@example.test>`, mail.at.toISOString()])
    expect(Buffer.from(parsed.attachments[0]?.content as ArrayBuffer)).toEqual(Buffer.from([0, 1, 255]))
    expect(raw).not.toContain('hidden@reader.test')
  })

  test('replaces characters that the database cannot store', async () => {
    await provider().send(testMail({ subject: 'nul \0 half \ud800 \\u0000', text: '\udfff' }))
    expect((await read()).map(({ subject, text }) => [subject, text])).toEqual([
      ['nul \ufffd half \ufffd \\u0000', '\ufffd'],
    ])
  })

  test('lists messages newest first, filtered by channel and recipient, up to a limit', async () => {
    const local = provider()
    for (const address of ['a@x.test', 'B@x.test', 'c@x.test']) {
      clock.advance(10)
      await local.send(testMail({ to: to(address), bcc: to('all@x.test') }))
    }
    const recipientsFor = async (query: Parameters<typeof read>[0]) => (await read(query)).map((entry) => entry.to[0])
    expect(await recipientsFor({})).toEqual(['c@x.test', 'B@x.test', 'a@x.test'])
    expect(await recipientsFor({ limit: 2 })).toEqual(['c@x.test', 'B@x.test'])
    expect(await recipientsFor({ to: 'b@X.test' })).toEqual(['B@x.test'])
    expect(await recipientsFor({ to: 'all@x.test', channel: 'email' })).toHaveLength(3)
    expect(await recipientsFor({ channel: 'sms' })).toEqual([])
    expect(await recipientsFor({ to: 'nobody@x.test' })).toEqual([])
  })

  test('returns messages of 4 MB at most, or the newest one if that is larger', async () => {
    const [text, third] = ['a'.repeat(4_200_000), 'a'.repeat(1_300_000)]
    for (const [n, body] of [text, third, third, third, text].entries()) {
      clock.advance(10)
      await provider().send(testMail({ to: to(`${n}@x.test`), text: body, html: null }))
      await outbox.flushed()
      const shown = (await read()).map((entry) => entry.to[0])
      expect(shown).toEqual([['0'], ['1'], ['2', '1'], ['3', '2', '1'], ['4']][n]?.map((name) => `${name}@x.test`))
    }
    expect((await read())[0]?.text).toBe(text)
  })

  test('keeps the newest 10,000 messages and trims in the background', async () => {
    await database.sql(
      `insert into local_outbox (id, channel, mail, at)
       select 'a_' || lpad(n::text, 5, '0'), 'email', '{"recipients": []}', timestamptz '2020-01-01' + n * interval '1 second'
       from generate_series(1, 10200) n`,
    )
    const local = provider()
    await Promise.all(Array.from({ length: 2_000 }, () => local.send(testMail())))
    await outbox.drained()
    expect(await count()).toBeLessThanOrEqual(10_000)
    const [oldest] = await database.sql<{ id: string }>('select id from local_outbox order by id limit 1')
    expect(Number(oldest?.id.slice(2))).toBeGreaterThan(2_000)
    const [sent] = await database.sql<{ n: string }>("select count(*) as n from local_outbox where id like 'local_%'")
    expect(Number(sent?.n)).toBe(2_000)
  })

  test('commits without waiting for the disk', async () => {
    const client = new pg.Client(database.url)
    await client.connect()
    await client.query('begin')
    await client.query('set local synchronous_commit = on')
    await client.query(insertOutboxEntries.text, ['a', 'email', '', '', new Date().toISOString(), '{}'])
    const { rows } = await client.query('show synchronous_commit')
    await client.end()
    expect(rows).toEqual([{ synchronous_commit: 'off' }])
  })

  test('stores a mail once when the database connection is lost during the write', async () => {
    await database.sql('create sequence cuts')
    await database.sql(`create function cut_once() returns trigger language plpgsql as $$
      begin
        if nextval('cuts') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
        return null;
      end $$`)
    await database.sql('create trigger cut after insert on local_outbox execute function cut_once()')
    const handed = await provider().send(testMail())
    await outbox.flushed()
    await database.sql('drop trigger cut on local_outbox')
    expect(await database.sql('select last_value::int as writes from cuts')).toEqual([{ writes: 2 }])
    expect((await read()).map(({ id }) => id)).toEqual([handed.providerMessageId])
  })

  test('accepts a mail that cannot be stored, and logs it', async () => {
    const logged: unknown[] = []
    const log = { ...silentLog(), warn: (...line: unknown[]) => logged.push(line) } as unknown as Log
    const failing: Db = { ...db, change: () => Promise.reject(new Error('no disk')) }
    const broken = makeOutbox({ db: failing, log })
    const local = makeLocalProvider({ outbox: broken, clock, serviceDomain: 'tidings.test' })
    const mail = testMail()
    expect((await local.send(mail)).provider).toBe('local')
    await broken.flushed()
    expect(logged).toEqual([[{ err: new Error('no disk'), message_id: mail.messageId }, 'outbox entry lost']])
  })

  test('makes sends wait while a thousand mails are not yet stored', async () => {
    let store = (): void => undefined
    const stored = new Promise<void>((resolve) => {
      store = resolve
    })
    const change: Db['change'] = async (statement, ...params) => {
      await stored
      return db.change(statement, ...params)
    }
    const slow = makeOutbox({ db: { ...db, change }, log: silentLog() })
    const local = makeLocalProvider({ outbox: slow, clock, serviceDomain: 'tidings.test' })
    for (let sent = 0; sent < 1_000; sent++) await local.send(testMail())
    const states: string[] = []
    const waiting = local.send(testMail()).then(() => states.push('sent'))
    await new Promise((resolve) => setImmediate(resolve))
    states.push('stored')
    store()
    await waiting
    await slow.drained()
    expect([states, await count()]).toEqual([['stored', 'sent'], 1_001])
  })

  test('never has more than a thousand mails that are not yet stored, however many sends wait', async () => {
    let resolved = 0
    let written = 0
    let most = 0
    const change: Db['change'] = async (statement, ...params) => {
      const done = await db.change(statement, ...params)
      written += done
      return done
    }
    const slow = makeOutbox({ db: { ...db, change }, log: silentLog() })
    const local = makeLocalProvider({ outbox: slow, clock, serviceDomain: 'tidings.test' })
    const send = async () => {
      await local.send(testMail())
      resolved++
      most = Math.max(most, resolved - written)
    }
    await Promise.all(Array.from({ length: 4_000 }, send))
    await slow.drained()
    expect([resolved, written, most <= 1_000]).toEqual([4_000, 4_000, true])
  })
})

const simulators = ['delivered', 'bounced', 'softbounced', 'complained'].map(
  (scenario) => `${scenario}@simulator.tidings.test`,
)
const outcomes = [
  ['delivered', simulators[0], null],
  ['hard_bounce', simulators[1], 'Permanent'],
  ['soft_bounce', simulators[2], 'Transient'],
  ['complaint', simulators[3], null],
]

describe('simulator recipients', () => {
  test('R-05 SD-55 report their outcome immediately and separately, in To, Cc and Bcc', async () => {
    const [a, b, c, d] = simulators as [string, string, string, string]
    const mail = testMail({ to: to(a, 'ann@reader.test'), cc: to(b.toUpperCase()), bcc: to(c, d) })
    const { reports } = await provider().send(mail)
    expect(
      reports?.map(({ kind, recipients, bounceType }) => [kind, recipients.join().toLowerCase(), bounceType]),
    ).toEqual(outcomes)
    expect(await count()).toBe(1)
  })

  test('R-05 are recognized only with a known name at the domain of the service', async () => {
    const others = ['bounced@simulator.other.test', 'bounced@tidings.test', 'x-bounced@simulator.tidings.test']
    for (const address of [
      ...others,
      'constructor@simulator.tidings.test',
      '+bounced@simulator.tidings.test',
      'x+bounced@simulator.tidings.test',
      'bounced@x.simulator.tidings.test',
    ]) {
      expect((await provider().send(testMail({ to: to(address) }))).reports, address).toBeUndefined()
    }
  })

  test('R-05 SD-55 may have any label after a +, in live and in test mode', async () => {
    for (const label of ['1', 'a+b', 'Sign-Up', '']) {
      const labelled = simulators.map((address) => address.replace('@', `+${label}@`))
      const mail = testMail({ to: to(...labelled) })
      const wanted = outcomes.map(([kind, , type], i) => [kind, [labelled[i]], type])
      for (const { reports } of [await provider().send(mail), simulate(mail, 'tidings.test')]) {
        expect(reports?.map((report) => [report.kind, report.recipients, report.bounceType])).toEqual(wanted)
      }
    }
    const fault = await faultOf(provider().send(testMail({ to: to('refused+1@simulator.tidings.test') })))
    expect([fault.kind, waits]).toEqual(['refused', []])
    await provider().send(testMail({ to: to('slow+1@simulator.tidings.test') }))
    expect(waits).toEqual([3_000])
  })

  test('R-05 named refused@ are refused and not stored', async () => {
    const refused = testMail({ to: to('ann@reader.test'), bcc: to('refused@simulator.tidings.test') })
    const fault = await faultOf(provider().send(refused))
    expect([fault.kind, fault.provider, await count()]).toEqual(['refused', 'local', 0])
  })

  test('R-05 named slow@ are accepted after three seconds', async () => {
    const slow = await provider().send(testMail({ to: to('slow@simulator.tidings.test') }))
    expect([slow.provider, slow.reports, waits, await count()]).toEqual(['local', undefined, [3_000], 1])
  })
})

describe('a simulated send', () => {
  test('SD-54 SD-55 has a test_ id and simulated outcomes, and reaches no provider', async () => {
    const plain = simulate(testMail(), 'tidings.test')
    expect(plain).toEqual({
      provider: 'simulator',
      providerMessageId: expect.stringMatching(/^test_msg_[0-9a-z]{26}$/),
    })
    const { reports } = simulate(testMail({ to: to(...simulators) }), 'tidings.test')
    expect(reports?.map(({ kind, recipients, bounceType }) => [kind, recipients.join(), bounceType])).toEqual(outcomes)
    expect(simulate(testMail({ to: to('refused@simulator.tidings.test') }), 'tidings.test').reports).toBeUndefined()
    expect(await count()).toBe(0)
  })
})
