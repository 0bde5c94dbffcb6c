import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Log, makeLog } from './log.ts'
import { scrubText } from './scrub.ts'

/** The records that `write` logs. */
const logged = async (write: (log: Log) => void, format: 'json' | 'pretty' = 'json'): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-log-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const destination = join(folder, 'log')
  const log = makeLog({ level: 'info', format, destination })
  write(log)
  log.flush()
  const read = () => readFile(destination, 'utf8').catch(() => '')
  await expect.poll(read).toMatch(/\n$/)
  return read()
}

test.each([
  ['550 5.1.1 <ada@example.test>: user unknown', '550 5.1.1 <[address]>: user unknown'],
  ['to=<ada@example.test>, relay', 'to=<[address]>, relay'],
  ['ada.lovelace+news@sub.example.test refused', '[address] refused'],
  ["o'brien/sales@example.test", '[address]'],
  ['bounce+ada=example.test@send.test.', '[address]'],
  ['"ada lovelace"@example.test x', '[address] x'],
  ['{"to":"ada@example.test"}', '{"to":"[address]"}'],
  ['zoë@bücher.test', '[address]'],
  ['ada@[127.0.0.1] x', '[address] x'],
  ['ada@[127.0.0.1', 'ada@[127.0.0.1'],
  ['/api/v1/x?to=ada%40example.test&n=1', '/api/v1/[address]&n=1'],
  ['a@b.test,c@d.test;e@f.test', '[address],[address];[address]'],
  ['a\nada@b.test', 'a\n[address]'],
  ['smtp://user:pass@relay.test:25', 'smtp://user:[address]:25'],
  ['at node_modules/@aws-sdk/client/x.js:1:2', 'at node_modules/@aws-sdk/client/x.js:1:2'],
  ["Cannot find package '@fastify/x'", "Cannot find package '@fastify/x'"],
  ['@ @@ a@ @b', '@ @@ a@ @b'],
  ['to +15005550001 and %2B15005550002', 'to [number] and [number]'],
  ['2026-11-16T10:20:30+00:00 1+1', '2026-11-16T10:20:30+00:00 1+1'],
])('in %j addresses and numbers are masked', (text, masked) => {
  expect(scrubText(text)).toBe(masked)
})

test.each(['a', '@', 'a@', '"@', 'a@[', '+1', '%40', 'a@b.test ', '/'])(
  'a text of a million characters of %j is cut, and cut before the work begins',
  (unit) => {
    const text = unit.repeat(Math.ceil(1_000_000 / unit.length))
    expect(scrubText(text).length).toBeLessThan(8_100)
    expect(scrubText(text)).not.toContain('b.test')
  },
)

test('an address at the cut of a long text is masked', () => {
  for (let before = 7_960; before <= 8_000; before++) {
    expect(scrubText(`${' '.repeat(before)}lovelace@example.test${' x'.repeat(5_000)}`)).not.toContain('lovelace')
  }
})

/** An error as nodemailer makes it, with the addresses in every place. */
const relayError = () => {
  const reply = '550 5.1.1 <ada@example.test>: user unknown, call +15005550001'
  const rejected = Object.assign(new Error(`Recipient command failed: ${reply}`), {
    code: 'EENVELOPE',
    response: reply,
    recipient: 'ada@example.test',
  })
  return Object.assign(new Error(`Can't send mail: ${reply}`, { cause: rejected }), {
    response: reply,
    rejected: ['ada@example.test'],
    rejectedErrors: [rejected],
    envelope: { from: 'hello@example.test', to: ['ada@example.test'] },
    'ada@example.test': { nested: { again: rejected } },
  })
}

test.each(['json', 'pretty'] as const)(
  'no address or number of an error is logged, whatever its causes and fields contain (%s)',
  async (format) => {
    const text = await logged((log) => {
      const err = new Error('message handover failed', { cause: new Error('wrapped', { cause: relayError() }) })
      log.warn({ err, message_id: 'msg_1' }, 'handover to %s failed', 'ada@example.test')
      log.warn({ err: relayError() })
      log.error(relayError())
      log.error('to ada@example.test')
      log.error({ err: new AggregateError([relayError()], 'all failed for ada@example.test') }, 'x')
      log.info({ names: { 'ada@example.test': relayError() } }, 'x')
    }, format)
    expect(text).not.toMatch(/example\.test|\+1500/)
    expect(text).toContain('550 5.1.1 <[address]>: user unknown, call [number]')
    expect(text).toContain('handover to [address] failed')
    expect(text).toContain('EENVELOPE')
  },
)

test('a record of an error keeps its type, code, message and stack', async () => {
  const record = JSON.parse(
    await logged((log) => log.error({ err: Object.assign(new TypeError('a b'), { code: 'E1' }), key: 'k' }, 'failed')),
  )
  expect(record).toEqual({
    level: 50,
    time: expect.any(String),
    msg: 'failed',
    key: '[redacted]',
    err: { type: 'TypeError', message: 'a b', code: 'E1', stack: expect.stringContaining('log.test.ts') },
  })
})

test('a record that refers to itself, is huge, or cannot be read is logged within its bounds', async () => {
  const cyclic: Record<string, unknown> = { name: 'ada@example.test' }
  for (let i = 0; i < 100; i++) cyclic[`again${i}`] = cyclic
  const unreadable = {
    get bad(): string {
      throw new Error('unreadable')
    },
  }
  const text = await logged((log) => {
    log.info({ cyclic, list: new Array(100_000).fill('ada@example.test'), bytes: Buffer.alloc(5), unreadable }, 'one')
    log.info(unreadable, 'two')
  })
  const [one, two] = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect([one.msg, two.msg]).toEqual(['one', 'two'])
  expect(text.length).toBeLessThan(100_000)
  expect(text).not.toContain('example.test')
})
