import fc from 'fast-check'
import PostalMime, { decodeWords, type Email } from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { at, testMail, to } from '../../../test/providers/email.ts'
import { composeMime, mailEnvelopeOf, wireAddress } from './compose-mime.ts'

const headOf = (raw: Buffer): string => raw.toString('utf8').split('\r\n\r\n', 1)[0] as string

/** The names of the header fields, in lower case. */
const fieldsOf = (raw: Buffer): string[] =>
  headOf(raw)
    .split('\r\n')
    .filter((line) => !/^[ \t]/.test(line))
    .map((line) => line.slice(0, line.indexOf(':')).toLowerCase())

const composeAndParse = async (mail: ReturnType<typeof testMail>): Promise<{ raw: Buffer; read: Email }> => {
  const raw = await composeMime(mail)
  return { raw, read: await PostalMime.parse(raw) }
}

/** The length of the longest line in bytes. */
const longestLine = (raw: Buffer): number =>
  Math.max(
    ...raw
      .toString('latin1')
      .split('\r\n')
      .map((line) => line.length),
  )

const headerIn = (read: Email, name: string) => read.headers.filter((header) => header.key === name.toLowerCase())

const usual = ['x-service-message-id', 'from', 'to', 'subject', 'message-id', 'date', 'mime-version', 'content-type']

describe('a composed message', () => {
  test('S-086 contains all fields of the mail, and a Message-ID that every attempt shares', async () => {
    const mail = testMail({
      cc: [{ address: 'cc@reader.test', name: 'Carl, the "second"' }],
      bcc: to('hidden@reader.test'),
      replyTo: [{ address: 'reply@example.test', name: 'Ré Ply' }],
      subject: 'Grüße an 東京',
      html: '<p>Grüße</p>',
      text: 'Grüße',
      headers: { 'X-Campaign-id': 'sprïng', 'List-Unsubscribe': '<https://example.test/u>' },
      attachments: [
        {
          filename: 'naïve "menu" — 東京.pdf',
          contentType: 'application/pdf',
          content: Buffer.from([0, 255, 10, 13]),
        },
        { filename: 'note.txt', contentType: 'text/plain', content: Buffer.from('plain\n') },
      ],
    })
    const { raw, read } = await composeAndParse(mail)
    expect(read.from).toEqual({ address: 'hello@example.test', name: 'Acme' })
    expect(read.to).toEqual([{ address: 'ann@reader.test', name: '' }])
    expect(read.cc).toEqual([{ address: 'cc@reader.test', name: 'Carl, the "second"' }])
    expect(read.replyTo).toEqual([{ address: 'reply@example.test', name: 'Ré Ply' }])
    expect(read.subject).toBe('Grüße an 東京')
    expect(read.text?.trim()).toBe('Grüße')
    expect(read.html?.trim()).toBe('<p>Grüße</p>')
    expect(read.messageId).toBe(`<${mail.messageId}@example.test>`)
    expect(read.date).toBe(at.toISOString())
    expect(
      read.attachments.map(({ filename, mimeType, content }) => [
        filename,
        mimeType,
        Buffer.from(content as ArrayBuffer),
      ]),
    ).toEqual([
      ['naïve "menu" — 東京.pdf', 'application/pdf', Buffer.from([0, 255, 10, 13])],
      ['note.txt', 'text/plain', Buffer.from('plain\n')],
    ])
    expect(headOf(raw)).toContain('\r\nX-Service-Message-Id: ')
    expect(headOf(raw)).toMatch(/^X-Campaign-id: =\?UTF-8\?/)
    expect(headerIn(read, 'X-Campaign-Id').map(({ value }) => decodeWords(value))).toEqual(['sprïng'])
    expect(headerIn(read, 'X-Service-Message-Id').map(({ value }) => value)).toEqual([mail.messageId])
    expect(fieldsOf(raw).toSorted()).toEqual(
      [...usual, 'x-campaign-id', 'list-unsubscribe', 'cc', 'reply-to'].toSorted(),
    )
    expect(raw.toString('latin1')).not.toMatch(/hidden@reader|x-mailer/i)
    expect(await composeMime(mail)).toHaveLength(raw.length)
  })

  test('has text and HTML as alternatives, one of them only, or an empty text', async () => {
    const typeOf = async (html: string | null, text: string | null) =>
      /^content-type: ([a-z/]+)/im.exec(headOf(await composeMime(testMail({ html, text }))))?.[1]
    expect(await typeOf('<p>a</p>', 'a')).toBe('multipart/alternative')
    expect(await typeOf('<p>a</p>', '')).toBe('text/html')
    expect(await typeOf(null, 'a')).toBe('text/plain')
    expect(await typeOf(null, null)).toBe('text/plain')
  })

  test('has CRLF line ends and lines of at most 998 bytes, whatever its parts contain', async () => {
    const text = `a\rb\nc\r\n.\r\n..\r\n${'long '.repeat(500)}\n${'x'.repeat(3000)}`
    const eml = Buffer.from('From: a@b.test\nSubject: x\n\nhi\rthere\n')
    const { raw, read } = await composeAndParse(
      testMail({
        text,
        html: `<p>${'é'.repeat(2000)}</p>`,
        attachments: [{ filename: 'x.eml', contentType: 'message/rfc822', content: eml }],
      }),
    )
    const lines = raw.toString('latin1').split('\r\n')
    expect(lines.filter((line) => /[\r\n]/.test(line))).toEqual([])
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(998)
    expect(read.text?.replaceAll('\r\n', '\n').trimEnd()).toBe(text.replace(/\r\n|\r/g, '\n'))
  })

  test('has application/octet-stream for an attachment whose type is invalid or unsafe', async () => {
    const cases: [type: string, content: string, expected: string][] = [
      ['image/png; name="a b"', 'x', 'image/png'],
      ['nonsense', 'x', 'application/octet-stream'],
      ['', 'x', 'application/octet-stream'],
      ['text/html\r\nBcc: a@b.test', 'x', 'application/octet-stream'],
      ['multipart/mixed; boundary=x', '--x\r\n\r\nhi\r\n--x--', 'application/octet-stream'],
      ['message/rfc822', 'Subject: é\r\n\r\nhi', 'application/octet-stream'],
    ]
    for (const [contentType, content, expected] of cases) {
      const attachment = { filename: 'file', contentType, content: Buffer.from(content) }
      const { read } = await composeAndParse(testMail({ attachments: [attachment] }))
      const [found, ...others] = read.attachments
      expect([found?.mimeType, others.length], contentType).toEqual([expected, 0])
      expect(Buffer.from(found?.content as ArrayBuffer).toString(), contentType).toBe(content)
    }
  })

  test('leaves out reserved and invalid header names, in any case', async () => {
    const names = [
      'Bcc',
      'bCC',
      'From',
      'Sender',
      'Subject',
      'Message-Id',
      'Date',
      'Content-Type',
      'MIME-Version',
      'Received',
      'Return-Path',
      'DKIM-Signature',
      'X-SES-CONFIGURATION-SET',
      'x-service-org-id',
      'Bad Name',
      'Bad:Name',
      'Bäd',
      '',
      'X-A\r\nBcc',
    ]
    const raw = await composeMime(testMail({ headers: Object.fromEntries(names.map((name) => [name, 'evil@x.test'])) }))
    expect(raw.toString('latin1')).not.toContain('evil@x.test')
    expect(fieldsOf(raw).toSorted()).toEqual(usual.toSorted())
  })
})

describe('custom headers', () => {
  /** The unfolded value of a header in the raw message. */
  const wireValue = async (name: string, value: string): Promise<string> => {
    const lines = headOf(await composeMime(testMail({ headers: { [name]: value } })))
      .replaceAll('\r\n ', ' ')
      .split('\r\n')
    return lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
  }

  test('S-086 S-087 with ASCII names and values are sent unchanged', async () => {
    const given: [name: string, value: string][] = [
      ['List-Id', '"Acme news" <news.example.com>'],
      ['List-Unsubscribe', `<mailto:off@example.com?subject="off">, <https://example.com/u?a=?b&c=${'d'.repeat(700)}>`],
      ['X-MyApp-id', 'say "hi" \\ to (all), <everyone>; "'],
      ['X-Mailer', 'Acme "Mailer" 1.0'],
      ['X-Ready', '=?utf-8?Q?M=C3=BCnchen?='],
      ['In-Reply-To', '<a@example.com>'],
      ['X-Words', 'two  spaces and "quotes" '.repeat(50).trim()],
      ['X'.repeat(126), `${'y'.repeat(800)} ${'z'.repeat(800)}`],
    ]
    for (const [name, value] of given) expect(await wireValue(name, value), name).toBe(value)
  })

  test('S-086 have only the necessary words encoded, never inside brackets or quotes', async () => {
    const cases: [name: string, value: string, wire: string][] = [
      ['X-A', 'plain é ü plain', 'plain =?UTF-8?B?w6kgw7w=?= plain'],
      ['X-A', 'naïve <https://example.com/>', '=?UTF-8?Q?na=C3=AFve?= <https://example.com/>'],
      ['X-A', 'a <b é> c', 'a =?UTF-8?B?PGIgw6k+?= c'],
      ['List-Id', '"Ácme news" <news.example.com>', '=?UTF-8?Q?=22=C3=81cme_news=22?= <news.example.com>'],
      ['List-Help', '<https://example.com/ü?q=東%20京>', '<https://example.com/%C3%BC?q=%E6%9D%B1%20%E4%BA%AC>'],
      [
        'list-help',
        'Hilfe für alle <https://example.com/é>, <mailto:a@example.com>',
        'Hilfe =?UTF-8?Q?f=C3=BCr?= alle <https://example.com/%C3%A9>, <mailto:a@example.com>',
      ],
    ]
    for (const [name, value, wire] of cases) expect(await wireValue(name, value), value).toBe(wire)
  })

  test('SD-26 have lines of at most 998 bytes, however long their words and gaps are', async () => {
    const long = 'z'.repeat(1_500)
    const values = [
      long,
      `"${long}"`,
      `a "b ${long}" c`,
      `<${long}`,
      `a${' '.repeat(1_500)}b`,
      '東'.repeat(2_000),
      `${'y'.repeat(860)}${' '.repeat(99)}${'z'.repeat(860)}`,
      'z'.repeat(861),
      'z'.repeat(880),
    ]
    for (const name of ['X-A', 'List-A', 'X'.repeat(126), `List-${'A'.repeat(121)}`]) {
      // White space is not significant in List-* headers.
      const squeeze = (text: string) => (name.startsWith('List-') ? text.replace(/ +/g, ' ') : text)
      for (const value of values) {
        const { raw, read } = await composeAndParse(testMail({ headers: { [name]: value } }))
        expect(longestLine(raw), value.slice(0, 20)).toBeLessThanOrEqual(998)
        expect(squeeze(decodeWords(headerIn(read, name)[0]?.value ?? ''))).toBe(squeeze(value))
      }
    }
  })

  test('S-087 SD-26 have a URL split inside its brackets only when it does not fit on a line', async () => {
    const url = `https://example.com/${'u'.repeat(1_900)}`
    const short = '<https://example.com/unsubscribe/12345>'
    const cases: [value: string, wire: string][] = [
      [`<${url}>, ${short}`, `< ${url.slice(0, 860)} ${url.slice(860, 1_720)} ${url.slice(1_720)} >, ${short}`],
      [Array(40).fill(short).join(), Array(40).fill(short).join(', ')],
      [`x<${url.slice(0, 800)}>y<${url.slice(0, 800)}>`, `x< ${url.slice(0, 800)} >y< ${url.slice(0, 800)} >`],
      [`<${'東'.repeat(200)}>`, `< ${'%E6%9D%B1'.repeat(200).replace(/.{860}/g, '$& ')} >`],
    ]
    for (const [value, wire] of cases) {
      const raw = await composeMime(testMail({ headers: { 'List-Unsubscribe': value } }))
      expect(longestLine(raw), value.slice(0, 20)).toBeLessThanOrEqual(998)
      expect(await wireValue('List-Unsubscribe', value)).toBe(wire)
    }
  })

  test('SD-83 a subject of 998 characters is unchanged, in lines of at most 998 bytes', async () => {
    for (const subject of ['z'.repeat(998), '"'.repeat(998), `a${' '.repeat(996)}b`, '東'.repeat(998)]) {
      const { raw, read } = await composeAndParse(testMail({ subject }))
      expect([longestLine(raw) <= 998, read.subject]).toEqual([true, subject])
    }
  })

  test('a display name or file name that does not fit on a line does not break the header', async () => {
    for (const name of ['\\'.repeat(980), '"'.repeat(980), 'z'.repeat(980), `a${' '.repeat(900)}b`]) {
      const mail = testMail({
        from: { address: 'hello@example.test', name },
        to: [{ address: 'ann@reader.test', name }],
        attachments: [{ filename: name.slice(0, 255), contentType: 'text/plain', content: Buffer.from('x') }],
      })
      const { raw, read } = await composeAndParse(mail)
      expect(longestLine(raw), name.slice(0, 10)).toBeLessThanOrEqual(998)
      expect(raw.toString('latin1')).not.toMatch(/\r\n +\r\n/)
      expect([read.from?.address, read.to?.[0]?.address]).toEqual(['hello@example.test', 'ann@reader.test'])
    }
  })
})

describe('addresses that are not ASCII', () => {
  test('have their domain in ASCII form, in the envelope and in the headers', async () => {
    const mail = testMail({ from: { address: 'hello@bücher.test', name: null }, to: to('ann@JÕGEVA.test') })
    const { raw, read } = await composeAndParse(mail)
    expect(read.from?.address).toBe('hello@xn--bcher-kva.test')
    expect(read.messageId).toBe(`<${mail.messageId}@xn--bcher-kva.test>`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is the ASCII range
    expect(headOf(raw)).toMatch(/^[\x00-\x7f]*$/)
    const { from, to: recipients, needsUtf8 } = mailEnvelopeOf(mail)
    expect([from, [...recipients], needsUtf8]).toEqual([
      'hello@xn--bcher-kva.test',
      [['ann@xn--jgeva-dua.test', 'ann@JÕGEVA.test']],
      false,
    ])
  })

  test('require SMTPUTF8 for their local part, in every field', () => {
    expect(wireAddress('jürgen@bücher.test')).toBe('jürgen@bücher.test')
    expect(wireAddress('nobody')).toBe('nobody')
    const internationalized = { address: 'jürgen@reader.test', name: null }
    for (const changes of [
      { from: internationalized },
      { to: [internationalized] },
      { bcc: [internationalized] },
      { replyTo: [internationalized] },
    ]) {
      expect(mailEnvelopeOf(testMail(changes)).needsUtf8).toBe(true)
    }
    expect(mailEnvelopeOf(testMail({ returnPath: internationalized.address })).needsUtf8).toBe(true)
  })

  test('the envelope has each recipient once, and the return path as its sender', () => {
    const mail = testMail({
      to: to('a@x.test', 'b@x.test'),
      cc: to('a@X.test'),
      bcc: to('c@x.test'),
      returnPath: 'bounce+1@send.example.test',
    })
    const { from, to: recipients } = mailEnvelopeOf(mail)
    expect([from, [...recipients.keys()]]).toEqual(['bounce+1@send.example.test', ['a@x.test', 'b@x.test', 'c@x.test']])
  })
})

describe('hostile input', () => {
  const nasty = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc
      .array(
        fc.constantFrom(
          '\r\n',
          '\r',
          '\n',
          '\0',
          '\t',
          ' ',
          '\u2028',
          '\u0085',
          '\ud800',
          '"',
          '\\',
          '<',
          '>',
          ',',
          ';',
          ':',
          'Bcc: evil@evil.test',
          '\r\nBcc: evil@evil.test\r\n',
          '\r\n\r\n<p>evil</p>',
          '=?UTF-8?Q?=0D=0ABcc:?=',
          'é',
          '東京',
          '🙂',
          'word',
          "''",
          '%0d%0a',
          '(',
          ')',
          '=',
          '?',
          '"in quotes"',
          '\\"',
          '<in brackets>',
          '  ',
          ' '.repeat(120),
          'z'.repeat(900),
          '東'.repeat(400),
        ),
        { maxLength: 12 },
      )
      .map((parts) => parts.join('')),
  )
  const short = nasty.map((text) => text.slice(0, 255))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
  const asOneLine = (text: string) => text.toWellFormed().replace(/[\x00-\x1f\x7f]+/g, ' ')
  const squeezed = (text: string) => text.replace(/\s+/g, ' ').trim()

  test('cannot add headers, recipients or parts to a message', async () => {
    await fc.assert(
      fc.asyncProperty(short, nasty, nasty, short, nasty, async (name, subject, value, filename, text) => {
        const mail = testMail({
          from: { address: 'hello@example.test', name },
          to: [{ address: 'ann@reader.test', name }],
          subject,
          text,
          html: null,
          headers: { 'X-Given': value },
          attachments: [{ filename, contentType: 'application/pdf', content: Buffer.from('bytes') }],
        })
        const { raw, read } = await composeAndParse(mail)
        const known = new Set([...usual, 'x-given', 'content-transfer-encoding', 'content-disposition'])
        expect(fieldsOf(raw).filter((field) => !known.has(field))).toEqual([])
        expect(new Set(fieldsOf(raw)).size).toBe(fieldsOf(raw).length)
        expect(longestLine(raw)).toBeLessThanOrEqual(998)
        expect(headOf(raw)).not.toMatch(/\r\n *\r\n/)
        expect([read.from?.address, read.to?.map(({ address }) => address), read.cc, read.bcc]).toEqual([
          'hello@example.test',
          ['ann@reader.test'],
          undefined,
          undefined,
        ])
        expect(read.attachments).toHaveLength(1)
        expect(Buffer.from(read.attachments[0]?.content as ArrayBuffer).toString()).toBe('bytes')
        expect(read.html).toBeUndefined()
        expect(squeezed(read.subject ?? '')).toBe(squeezed(asOneLine(subject)))
        // Readers decode text that looks like encoded words, so its value cannot be compared. It cannot add a header.
        if (![name, value, filename].some((given) => given.includes('=?'))) {
          expect(decodeWords(headerIn(read, 'X-Given')[0]?.value ?? '')).toBe(asOneLine(value).trim())
          expect(squeezed(read.from?.name ?? '')).toBe(squeezed(asOneLine(name)))
          expect(squeezed(read.attachments[0]?.filename ?? '')).toBe(squeezed(asOneLine(filename)) || 'attachment')
        }
      }),
      { numRuns: 300 },
    )
  })

  test('S-087 does not prevent mail clients from finding the URLs of a List-* header', async () => {
    const path = fc
      .array(
        fc.oneof(fc.webSegment(), fc.constantFrom('é', '東京', '🙂', '%20', '"', '?a=?b', ',', '=?', 'u'.repeat(900))),
        {
          maxLength: 8,
        },
      )
      .map((parts) => parts.join('/'))
    const text = fc.constantFrom('', ' ', ', ', ',', ' (Hilfe für alle) ', '"é', 'x')
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(text, path), { minLength: 1, maxLength: 4 }), text, async (items, end) => {
        const urls = items.map(([, path]) => `https://example.test/${path}`)
        const value = items.map(([before], at) => `${before}<${urls[at]}>`).join('') + end
        const { raw, read } = await composeAndParse(testMail({ headers: { 'List-Unsubscribe': value } }))
        const got = headerIn(read, 'List-Unsubscribe')[0]?.value ?? ''
        const found = [...got.matchAll(/<([^<>]*)>/g)].map(([, url]) => new URL((url as string).replace(/ /g, '')).href)
        expect(found).toEqual(urls.map((url) => new URL(url).href))
        expect(longestLine(raw)).toBeLessThanOrEqual(998)
      }),
      { numRuns: 200 },
    )
  })

  test('in an address cannot add a second address to the headers', async () => {
    await fc.assert(
      fc.asyncProperty(nasty, async (local) => {
        const { raw, read } = await composeAndParse(testMail({ to: to(`${local}@reader.test`) }))
        expect(fieldsOf(raw).filter((field) => !usual.includes(field))).toEqual([])
        expect(read.to?.length ?? 0).toBeLessThanOrEqual(1)
        expect(read.bcc).toBeUndefined()
      }),
      {
        numRuns: 300,
        // A header of this length is folded at any Unicode space.
        examples: ['\u2028', '\u00a0', '\u3000'].map((space) => [`"${'a'.repeat(70)}${space}b"`]),
      },
    )
  })
})
