import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { emailInputOf } from './email-input.ts'
import { makeReader } from './reader.ts'

const reader = makeReader()
const read = (message: string | Buffer) => reader(typeof message === 'string' ? Buffer.from(message) : message)

const crlf = '\r\n'
const lines = (...all: string[]): string => all.join(crlf)

type RawPart = { head: string[]; body: string | Buffer }

/** Assembled without a library, so that the bytes under test arrive unchanged. */
const multipart = (kind: string, ...parts: RawPart[]): Buffer =>
  Buffer.concat([
    Buffer.from(lines('From: a@example.test', `Content-Type: multipart/${kind}; boundary="=_b"`, '', '')),
    ...parts.flatMap(({ head, body }) => [
      Buffer.from(lines('--=_b', ...head, '', '')),
      Buffer.from(body as string),
      Buffer.from(crlf),
    ]),
    Buffer.from(lines('--=_b--', '')),
  ])

const text = (body: string): RawPart => ({ head: ['Content-Type: text/plain; charset=utf-8'], body })
const html = (body: string): RawPart => ({ head: ['Content-Type: text/html; charset=utf-8'], body })
const file = (encoding: string, body: string | Buffer, type = 'application/x-thing'): RawPart => ({
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

/** Escapes the bytes that must be escaped and those that `alsoEscape` selects, and breaks long lines. */
const quotedPrintable = (bytes: Buffer, alsoEscape: (at: number) => boolean): string => {
  let [encoded, column] = ['', 0]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === 13 && bytes[at + 1] === 10 && !alsoEscape(at)) {
      // An unescaped blank before a line end would be dropped as added in transit.
      encoded = encoded.replace(/[ \t]$/, (blank) => (blank === ' ' ? '=20' : '=09')) + crlf
      column = 0
      at++
      continue
    }
    const plain = byte >= 32 && byte < 127 && byte !== 61 && !alsoEscape(at)
    const escaped = plain ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
    if (column + escaped.length > 70) {
      encoded += `=${crlf}`
      column = 0
    }
    encoded += escaped
    column += escaped.length
  }
  return encoded.replace(/[ \t]$/, (blank) => (blank === ' ' ? '=20' : '=09'))
}

describe('an attachment', () => {
  const someBytes = fc.array(
    fc.oneof(
      fc.constantFrom('\r\n', '\n', '\r', '=', ' ', '\t', '.', '--', '>'),
      fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)),
    ),
    { maxLength: 200 },
  )

  test('is decoded byte for byte from every encoding', async () => {
    await fc.assert(
      fc.asyncProperty(someBytes, fc.infiniteStream(fc.boolean()), async (fragments, alsoEscape) => {
        const content = Buffer.from(fragments.join(''), 'latin1')
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
              quotedPrintable(content, () => alsoEscape.next().value as boolean),
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
    ['CRLF line ends', 'l1\r\nl2\r\n'],
    ['lone line feeds', 'l1\nl2\n'],
    ['no content', ''],
  ])('with %s is unchanged', async (_, body) => {
    for (const encoding of ['7bit', '8bit', 'quoted-printable']) {
      expect(bytesOf(await read(multipart('mixed', file(encoding, body)))), encoding).toEqual([body])
    }
  })

  test('in a message with LF line ends does not include the line end before the boundary', async () => {
    const raw = multipart('mixed', file('7bit', 'abc')).toString().replaceAll(crlf, '\n')
    expect(bytesOf(await read(raw))).toEqual(['abc'])
  })

  test('in base64 may have padding on every line', async () => {
    expect(bytesOf(await read(multipart('mixed', file('base64', `QQ==${crlf}Qg==`))))).toEqual(['AB'])
  })

  test('in quoted-printable does not include trailing blanks of a line', async () => {
    const mail = await read(multipart('mixed', file('quoted-printable', 'a \r\nb=\t\r\nc=4')))
    expect(bytesOf(mail)).toEqual(['a\r\nbc=4'])
  })

  test('may be a complete message with its own parts', async () => {
    const inner = multipart('mixed', text('inner'), file('base64', 'AAEC')).toString().replaceAll('=_b', 'other')
    const mail = await read(multipart('mixed', text('outer'), { head: ['Content-Type: message/rfc822'], body: inner }))
    expect(mail.text).toBe('outer')
    expect(bytesOf(mail)).toEqual([inner])
  })

  test('may be the only part of a message', async () => {
    const mail = await read(lines('Content-Type: application/pdf', 'Content-Transfer-Encoding: base64', '', 'AAEC', ''))
    expect([mail.text, mail.html, bytesOf(mail)]).toEqual([undefined, undefined, ['\0\x01\x02']])
  })
})

describe('the text', () => {
  test('keeps every line and adds none', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom('\n', ' ', 'a', 'ü', '日', '😀', '=', '<')), async (characters) => {
        const wanted = characters.join('')
        const base64 = ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: base64']
        const sent = Buffer.from(wanted.replaceAll('\n', crlf))
        const mail = await read(multipart('mixed', { head: base64, body: sent.toString('base64') }))
        expect(mail.text).toBe(wanted)
      }),
    )
    expect((await read(multipart('alternative', text('a\r\nb'), html('<p>\r\n')))).text).toBe('a\nb')
    expect((await read(lines('Subject: s', '', 'One line.', ''))).text).toBe('One line.')
    expect((await read(lines('Subject: s', '', 'With an empty one.', '', ''))).text).toBe('With an empty one.\n')
  })

  test('is decoded from its charset', async () => {
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

  const flowed = async (parameters: string, ...body: string[]) =>
    (await read(lines(`Content-Type: text/plain; format=flowed${parameters}`, '', ...body))).text

  test('in format=flowed is unwrapped, but never across quote levels', async () => {
    expect(await flowed('', '> quoted ', '> more')).toBe('> quoted more')
    expect(await flowed('', '>> deep ', '> less ', 'mine ', 'still', ' >stuffed', ' From me')).toBe(
      '>> deep \n> less \nmine still\n>stuffed\nFrom me',
    )
    expect(await flowed('', 'Bye. ', '-- ', 'Ada')).toBe('Bye. \n-- \nAda')
    expect(await flowed('; delsp=yes', '日本 ', '語')).toBe('日本語')
  })

  test('of several parts is joined, and is left out when a part has HTML only', async () => {
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

  test('of a multipart that has content but no part is an error', async () => {
    await expect(read(lines('Content-Type: multipart/mixed; boundary=x', '', '--y', '', 'lost'))).rejects.toThrow(
      /no part/,
    )
    await expect(read(lines('Content-Type: multipart/mixed', '', 'lost'))).rejects.toThrow(/no part/)
  })
})

describe('the request body made from a message', () => {
  const inputOf = async (message: string | Buffer, to = ['a@example.com']) =>
    emailInputOf(await read(message), to).input as Record<string, unknown> & { headers: Record<string, string> }

  test('contains only headers that the API accepts, each once, and at most fifty', async () => {
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

  test('leaves out headers with invalid characters and keeps the others', async () => {
    const { headers } = await inputOf(
      lines('X-Nul: =?utf-8?B?AAEC?=', 'X-Escape: a\x1bb', 'X-Folded: a', '\tb', '', 'x'),
    )
    expect(headers).toEqual({ 'X-Folded': 'a\tb' })
    const mail = { ...(await read('\r\nx')), headers: [{ name: 'X-Half', value: '\ud800' }] }
    expect(emailInputOf(mail, ['a@example.com']).input.headers).toEqual({})
  })

  test('strips paths from file names, and names unnamed attachments by their type', async () => {
    const part = (...head: string[]): RawPart => ({ head, body: 'AAEC' })
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

  test('has the content id of each part that the API accepts, of equal ones the first', async () => {
    const part = (id: string): RawPart => ({ head: ['Content-Type: image/png', `Content-ID: ${id}`], body: 'x' })
    const ids = ['<logo@shop>', 'bare', '<logo@shop>', '<a b>', `<${'x'.repeat(129)}>`, '<>']
    const { attachments } = await inputOf(multipart('related', html('<img src="cid:bare">'), ...ids.map(part)))
    expect((attachments as { content_id?: string }[]).map(({ content_id }) => content_id)).toEqual([
      'logo@shop',
      'bare',
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  test.each([
    ['text/csv; charset=iso-8859-1; header=present', 'text/csv; charset=iso-8859-1; header=present'],
    ['TEXT/CSV; Charset="utf-8"; name="a b.csv"', 'text/csv; charset=utf-8'],
    ['application/x; title="two words"; bad="a\\"b"', 'application/x; title="two words"'],
    [`application/x; long=${'y'.repeat(300)}; short=1`, 'application/x; short=1'],
    ["application/x; t*=utf-8''%e2%82%ac; u=1", 'application/x; u=1'],
    ['not a media type', undefined],
  ])('has for an attachment of type %s the content type %s', async (type, wanted) => {
    const { attachments } = await inputOf(multipart('mixed', file('7bit', 'a', type)))
    expect((attachments as { content_type?: string }[])[0]?.content_type).toBe(wanted)
  })

  test('has an empty text when the message has neither text nor HTML', async () => {
    expect(await inputOf(lines('Subject: s', '', ''))).toMatchObject({ text: '\n', html: undefined })
    expect(await inputOf(multipart('mixed', file('base64', 'AAEC')))).toMatchObject({
      text: '\n',
      html: undefined,
    })
    expect(await inputOf(multipart('mixed', html('<p>')))).toMatchObject({ text: undefined, html: '<p>' })
  })

  test('has exactly one sender, and an unquoted comma in a name does not add a second', async () => {
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

  test('is rejected when there are several recipients and neither To nor Cc lists one', async () => {
    await expect(
      inputOf(lines('To: c@example.com', '', 'x'), ['a@example.com', 'b@example.com']),
    ).rejects.toMatchObject({
      detail: {
        errors: [{ path: ['to'], message: expect.stringMatching(/^Neither To nor Cc .* Send each/) }],
      },
    })
  })
})
