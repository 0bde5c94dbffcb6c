import fc from 'fast-check'
import * as postalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { compose } from './email-input.ts'
import { makeReader } from './reader.ts'

const reader = makeReader(postalMime)
const read = (message: string | Buffer) => reader(typeof message === 'string' ? Buffer.from(message) : message)

const crlf = '\r\n'
const lines = (...all: string[]): string => all.join(crlf)

type Parted = { head: string[]; body: string | Buffer }

/** By hand, so that nothing but the bytes under test decides what arrives. */
const multipart = (kind: string, ...parts: Parted[]): Buffer =>
  Buffer.concat([
    Buffer.from(lines('From: a@example.test', `Content-Type: multipart/${kind}; boundary="=_b"`, '', '')),
    ...parts.flatMap(({ head, body }) => [
      Buffer.from(lines('--=_b', ...head, '', '')),
      Buffer.from(body as string),
      Buffer.from(crlf),
    ]),
    Buffer.from(lines('--=_b--', '')),
  ])

const text = (body: string): Parted => ({ head: ['Content-Type: text/plain; charset=utf-8'], body })
const html = (body: string): Parted => ({ head: ['Content-Type: text/html; charset=utf-8'], body })
const file = (encoding: string, body: string | Buffer, type = 'application/x-thing'): Parted => ({
  head: [
    `Content-Type: ${type}`,
    `Content-Transfer-Encoding: ${encoding}`,
    'Content-Disposition: attachment; filename=a.bin',
  ],
  body,
})

const bytesOf = (mail: { attachments: { content: Uint8Array }[] }) =>
  mail.attachments.map(({ content }) => Buffer.from(content).toString('latin1'))

const folded = (long: string): string => long.replace(/.{76}/g, `$&${crlf}`)

/** Escapes what has to be and, where `also` says so, what has not; breaks lines wherever they get long. */
const quotedPrintable = (bytes: Buffer, also: (at: number) => boolean): string => {
  let [written, column] = ['', 0]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === 13 && bytes[at + 1] === 10 && !also(at)) {
      // A blank before a line end would be taken for one that was added on the way.
      written = written.replace(/[ \t]$/, (blank) => (blank === ' ' ? '=20' : '=09')) + crlf
      column = 0
      at++
      continue
    }
    const plain = byte >= 32 && byte < 127 && byte !== 61 && !also(at)
    const piece = plain ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
    if (column + piece.length > 70) {
      written += `=${crlf}`
      column = 0
    }
    written += piece
    column += piece.length
  }
  return written.replace(/[ \t]$/, (blank) => (blank === ' ' ? '=20' : '=09'))
}

describe('a file', () => {
  const someBytes = fc.array(
    fc.oneof(
      fc.constantFrom('\r\n', '\n', '\r', '=', ' ', '\t', '.', '--', '>'),
      fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)),
    ),
    { maxLength: 200 },
  )

  test('is the same byte for byte in every encoding', async () => {
    await fc.assert(
      fc.asyncProperty(someBytes, fc.infiniteStream(fc.boolean()), async (pieces, also) => {
        const content = Buffer.from(pieces.join(''), 'latin1')
        const ascii = Buffer.from(content.map((byte) => byte % 128))
        const mail = await read(
          multipart(
            'mixed',
            text('Hi'),
            file('7bit', ascii),
            file('8bit', content),
            file('binary', content, 'text/csv; charset=iso-8859-1'),
            file('base64', folded(content.toString('base64'))),
            file(
              'quoted-printable',
              quotedPrintable(content, () => also.next().value as boolean),
            ),
          ),
        )
        const exact = content.toString('latin1')
        expect(bytesOf(mail)).toEqual([ascii.toString('latin1'), exact, exact, exact, exact])
        expect(mail.text).toBe('Hi')
      }),
      { numRuns: 300 },
    )
  })

  test.each([
    ['no line end', 'abc'],
    ['its own line ends', 'l1\r\nl2\r\n'],
    ['lone line feeds', 'l1\nl2\n'],
    ['nothing', ''],
  ])('with %s keeps just that', async (_, body) => {
    for (const encoding of ['7bit', '8bit', 'quoted-printable']) {
      expect(bytesOf(await read(multipart('mixed', file(encoding, body)))), encoding).toEqual([body])
    }
  })

  test('in lines that end in LF alone loses the last of them to the boundary', async () => {
    const raw = multipart('mixed', file('7bit', 'abc')).toString().replaceAll(crlf, '\n')
    expect(bytesOf(await read(raw))).toEqual(['abc'])
  })

  test('in base64 may be filled up line by line; in quoted-printable blanks at the end of a line are not its own', async () => {
    const mail = await read(
      multipart('mixed', file('base64', `QQ==${crlf}Qg==`), file('quoted-printable', 'a \r\nb=\t\r\nc=4')),
    )
    expect(bytesOf(mail)).toEqual(['AB', 'a\r\nbc=4'])
  })

  test('may be a whole message, with parts of its own', async () => {
    const inner = multipart('mixed', text('inner'), file('base64', 'AAEC')).toString().replaceAll('=_b', 'other')
    const mail = await read(multipart('mixed', text('outer'), { head: ['Content-Type: message/rfc822'], body: inner }))
    expect(mail.text).toBe('outer')
    expect(bytesOf(mail)).toEqual([inner])
  })

  test('may be all there is', async () => {
    const mail = await read(lines('Content-Type: application/pdf', 'Content-Transfer-Encoding: base64', '', 'AAEC', ''))
    expect([mail.text, mail.html, bytesOf(mail)]).toEqual([undefined, undefined, ['\0\x01\x02']])
  })
})

describe('the text', () => {
  test('gains and loses no line', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom('\n', ' ', 'a', 'ü', '日', '😀', '=', '<')), async (pieces) => {
        const wanted = pieces.join('')
        const base64 = ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: base64']
        const wired = Buffer.from(wanted.replaceAll('\n', crlf))
        const mail = await read(multipart('mixed', { head: base64, body: wired.toString('base64') }))
        expect(mail.text).toBe(wanted)
      }),
    )
    expect((await read(multipart('alternative', text('a\r\nb'), html('<p>\r\n')))).text).toBe('a\nb')
    expect((await read(lines('Subject: s', '', 'One line.', ''))).text).toBe('One line.')
    expect((await read(lines('Subject: s', '', 'With an empty one.', '', ''))).text).toBe('With an empty one.\n')
  })

  test('is read in its charset', async () => {
    const latin = Buffer.from(lines('Content-Type: text/plain; charset=iso-8859-1', '', 'Gr\u00fc\u00dfe'), 'latin1')
    expect((await read(latin)).text).toBe('Grüße')
    const japanese = lines(
      'Content-Type: text/plain; charset=shift_jis',
      'Content-Transfer-Encoding: base64',
      '',
      'k/qWew==',
    )
    expect((await read(japanese)).text).toBe('日本')
  })

  const flowed = async (parameters: string, ...said: string[]) =>
    (await read(lines(`Content-Type: text/plain; format=flowed${parameters}`, '', ...said))).text

  test('that flows is unfolded, and never across levels of quoting', async () => {
    expect(await flowed('', '> quoted ', '> more')).toBe('> quoted more')
    expect(await flowed('', '>> deep ', '> less ', 'mine ', 'still', ' >stuffed', ' From me')).toBe(
      '>> deep \n> less \nmine still\n>stuffed\nFrom me',
    )
    expect(await flowed('', 'Bye. ', '-- ', 'Ada')).toBe('Bye. \n-- \nAda')
    expect(await flowed('; delsp=yes', '日本 ', '語')).toBe('日本語')
  })

  test('of several parts stands one after the other, and is left out where only some of the HTML has one', async () => {
    expect(await read(multipart('mixed', text('a'), text('b')))).toMatchObject({
      text: 'a\nb',
      html: undefined,
    })
    const both = await read(multipart('mixed', html('<b>a</b>'), text('<list>\r\n& co')))
    expect(both).toMatchObject({ html: '<b>a</b>\n<p>&lt;list&gt;<br>\n&amp; co</p>', text: undefined })
    expect(await read(multipart('alternative', text('a'), html('<b>a</b>')))).toMatchObject({
      text: 'a',
      html: '<b>a</b>',
    })
  })

  test('of a multipart in which no part begins is not taken for an empty one', async () => {
    await expect(read(lines('Content-Type: multipart/mixed; boundary=x', '', '--y', '', 'lost'))).rejects.toThrow(
      /no part/,
    )
    await expect(read(lines('Content-Type: multipart/mixed', '', 'lost'))).rejects.toThrow(/no part/)
  })
})

describe('as the API would be given it', () => {
  const inputOf = async (message: string | Buffer, to = ['a@example.com']) =>
    compose(await read(message), to).input as Record<string, unknown> & { headers: Record<string, string> }

  test('only headers it would take are carried, each once, fifty at most', async () => {
    const many = Array.from({ length: 60 }, (_, i) => `X-H${i}: ${i}`)
    const { headers } = await inputOf(
      lines(
        'Received: from a',
        'DKIM-Signature: x',
        'Message-ID: <a@b>',
        'Bcc: c@d.example',
        `X-Long: ${'y'.repeat(2_001)}`,
        'References: <a@b>',
        'references: <again@b>',
        'List-Id: =?utf-8?q?=C3=BC?=',
        ...many,
        '',
        'x',
      ),
    )
    expect(Object.keys(headers)).toHaveLength(50)
    expect(headers).toMatchObject({ References: '<a@b>', 'List-Id': 'ü', 'X-H0': '0', 'X-H47': '47' })
  })

  test('headers that hold what none can carry are left out by themselves', async () => {
    const { headers } = await inputOf(
      lines('X-Nul: =?utf-8?B?AAEC?=', 'X-Escape: a\x1bb', 'X-Folded: a', '\tb', '', 'x'),
    )
    expect(headers).toEqual({ 'X-Folded': 'a\tb' })
    const mail = { ...(await read('\r\nx')), headers: [{ name: 'X-Half', value: '\ud800' }] }
    expect(compose(mail, ['a@example.com']).input.headers).toEqual({})
  })

  test('files keep their names without paths, and those without one are named by their type', async () => {
    const part = (...head: string[]): Parted => ({ head, body: 'AAEC' })
    const base64 = 'Content-Transfer-Encoding: base64'
    const { attachments } = await inputOf(
      multipart(
        'mixed',
        part('Content-Type: application/pdf', base64, 'Content-Disposition: attachment; filename="../a\\\\b.pdf"'),
        part('Content-Type: text/calendar; method=REQUEST; name=i.ics', base64),
        part('Content-Type: image/png', base64),
        part('Content-Type: message/rfc822'),
        part('Content-Type: application/x-unheard-of', base64),
        part('Content-Type: text/plain', base64, `Content-Disposition: attachment; filename="${'a'.repeat(254)}😀"`),
      ),
    )
    const content = 'AAEC'
    expect(attachments).toEqual([
      { filename: '.._a_b.pdf', content, content_type: 'application/pdf' },
      { filename: 'i.ics', content, content_type: 'text/calendar; method=REQUEST' },
      { filename: 'attachment-3.png', content, content_type: 'image/png' },
      {
        filename: 'attachment-4.eml',
        content: Buffer.from('AAEC').toString('base64'),
        content_type: 'message/rfc822',
      },
      { filename: 'attachment-5', content, content_type: 'application/x-unheard-of' },
      { filename: `${'a'.repeat(254)}\ufffd`, content, content_type: 'text/plain' },
    ])
  })

  test.each([
    ['text/csv; charset=iso-8859-1; header=present', 'text/csv; charset=iso-8859-1; header=present'],
    ['TEXT/CSV; Charset="utf-8"; name="a b.csv"', 'text/csv; charset=utf-8'],
    ['application/x; title="two words"; bad="a\\"b"', 'application/x; title="two words"'],
    [`application/x; long=${'y'.repeat(300)}; short=1`, 'application/x; short=1'],
    ["application/x; t*=utf-8''%e2%82%ac; u=1", 'application/x; u=1'],
    ['no type at all', undefined],
  ])('a file of type %s is one of %s', async (type, wanted) => {
    const { attachments } = await inputOf(multipart('mixed', file('7bit', 'a', type)))
    expect((attachments as { content_type?: string }[])[0]?.content_type).toBe(wanted)
  })

  test('a message without text has an empty one, and HTML needs none', async () => {
    expect(await inputOf(lines('Subject: s', '', ''))).toMatchObject({ text: '\n', html: undefined })
    expect(await inputOf(multipart('mixed', file('base64', 'AAEC')))).toMatchObject({
      text: '\n',
      html: undefined,
    })
    expect(await inputOf(multipart('mixed', html('<p>')))).toMatchObject({ text: undefined, html: '<p>' })
  })

  test('there is one sender; a name with a comma that lacks its quotes is no second', async () => {
    const from = (value: string) => inputOf(lines(`From: ${value}`, '', 'x'))
    await expect(from('a@example.test, b@example.test')).rejects.toMatchObject({
      detail: { errors: [{ path: ['from'], message: expect.stringContaining('one sender') }] },
    })
    await expect(from('a@example.test\r\nFrom: b@example.test')).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    })
    expect((await from('Doe, Jane <jane@example.test>')).from).toContain('jane@example.test')
    expect((await from('Nobody')).from).toBe('')
  })

  test('of several recipients one has to be named', async () => {
    await expect(
      inputOf(lines('To: c@example.com', '', 'x'), ['a@example.com', 'b@example.com']),
    ).rejects.toMatchObject({
      detail: {
        errors: [{ path: ['to'], message: expect.stringMatching(/^Neither To nor Cc .* Send each/) }],
      },
    })
  })
})
