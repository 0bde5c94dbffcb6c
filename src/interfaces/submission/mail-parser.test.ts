import { expect, onTestFinished, test } from 'vitest'
import { makeMailParser } from './mail-parser.ts'

const program = new URL('../../../test/providers/fake-parser-thread.ts', import.meta.url)

const parserOf = (options: Parameters<typeof makeMailParser>[0]) => {
  const parser = makeMailParser(options)
  onTestFinished(parser.close)
  const settled: string[] = []
  const parse = (message: string, orgId: string, gone?: AbortSignal) =>
    parser
      .parse(Buffer.from(message), { orgId, ...(gone && { gone }) })
      .then(
        ({ subject }) => String(subject),
        (error) => String(error.code ?? error.message),
      )
      .then((outcome) => {
        settled.push(`${message} ${outcome}`)
        return outcome
      })
  return { parse, settled }
}

test('slow messages of one org do not delay other orgs', async () => {
  const { parse, settled } = parserOf({ deadlineMs: 500, program })
  const hostile = [1, 2, 3].map((n) => parse(`forever ${n}`, 'org_a'))
  const own = parse('own', 'org_a')
  const others = [parse('b', 'org_b'), parse('c', 'org_c')]
  expect(await Promise.all(others)).toEqual(['b', 'c'])
  expect(settled).toEqual(['b b', 'c c'])
  await Promise.all([...hostile, own])
  expect(settled.slice(2)).toEqual([
    'forever 1 RATE_LIMITED',
    'forever 2 RATE_LIMITED',
    'forever 3 RATE_LIMITED',
    'own own',
  ])
})

test('messages that share the turn of one that ends its thread are parsed in another', async () => {
  const { parse } = parserOf({ deadlineMs: 500, program })
  const messages = ['first', 'a', 'forever', 'b', 'bad', 'c', 'dies', 'd']
  expect(await Promise.all(messages.map((message) => parse(message, 'org_a')))).toEqual([
    'first',
    'a',
    'RATE_LIMITED',
    'b',
    'VALIDATION_ERROR',
    'c',
    'VALIDATION_ERROR',
    'd',
  ])
})

test('a message that cannot be parsed or that crashes the thread is rejected without affecting the next', async () => {
  const { parse } = parserOf({ program })
  expect(await parse('bad', 'org_a')).toBe('VALIDATION_ERROR')
  expect(await parse('dies', 'org_a')).toBe('VALIDATION_ERROR')
  expect(await parse('good', 'org_a')).toBe('good')
})

test('a message whose client disconnects while it waits is not parsed', async () => {
  const { parse, settled } = parserOf({ deadlineMs: 500, program })
  const first = parse('forever', 'org_a')
  const leaving = new AbortController()
  const second = parse('left', 'org_a', leaving.signal)
  leaving.abort(new Error('gone'))
  expect(await second).toBe('gone')
  await first
  expect(settled).toEqual(['left gone', 'forever RATE_LIMITED'])
})

test('the real reader runs in a thread and returns attachments', async () => {
  const { parse, close } = makeMailParser()
  onTestFinished(close)
  const message = [
    'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: application/x-thing',
    '',
    'l1',
    'l2',
    '--b--',
  ]
  const mail = await parse(Buffer.from(message.join('\r\n')), { orgId: 'org_a' })
  expect(mail.subject).toBe('Grüße')
  expect(mail.attachments.map(({ content }) => Buffer.from(content).toString())).toEqual(['l1\r\nl2'])
})

test('unclosed HTML tags are parsed within the deadline', async () => {
  const { parse, close } = makeMailParser()
  onTestFinished(close)
  const html = `--b\r\nContent-Type: text/html\r\n\r\n${'<a href="x" '.repeat(180_000)}\r\n`
  const message = `Content-Type: multipart/mixed; boundary=b\r\n\r\n${html}--b\r\n\r\nplain\r\n--b--\r\n`
  const mail = await parse(Buffer.from(message), { orgId: 'org_a' })
  expect(mail.html).toContain('<p>plain</p>')
})

test('a message with more than 200,000 lines is rejected without being parsed', async () => {
  const { parse } = parserOf({})
  expect(await parse('\n'.repeat(200_001), 'org_a')).toBe('VALIDATION_ERROR')
})
