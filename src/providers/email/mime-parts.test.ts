import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { dkimKeys, testMail } from '../../../test/providers/email.ts'
import { composeMime } from './compose-mime.ts'
import { signDkim } from './dkim.ts'
import type { Mail } from './email-provider.ts'
import { mimePartsOf } from './mime-parts.ts'
import { fromStored, toStored } from './stored-mail.ts'

const compose = async (changes: Partial<Mail>) => {
  const raw = await composeMime(testMail(changes))
  return { raw: raw.toString('latin1'), read: await PostalMime.parse(raw) }
}

/** The media types of all parts, in the order of the message. */
const typesIn = (raw: string): string[] =>
  [...raw.matchAll(/^content-type: ([\w/-]+)/gim)].map(([, type = '']) => type.toLowerCase())

/** The header lines of the part that contains this text, unfolded. */
const headersOf = (raw: string, text: string): string[] => {
  const part = raw.split(/\r\n--[^\r\n]+\r\n/).find((one) => one.includes(text)) ?? ''
  return (part.split('\r\n\r\n', 1)[0] as string).replace(/\r\n[ \t]+/g, ' ').split('\r\n')
}

const logo = { filename: 'logo.png', contentType: 'image/png', content: Buffer.from('LOGO'), contentId: 'logo@acme' }
const pdf = { filename: 'a.pdf', contentType: 'application/pdf', content: Buffer.from('PDF') }
const event = Buffer.from('BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nSUMMARY:Grüße\r\nEND:VCALENDAR\r\n')
const invitation = { filename: 'invite.ics', contentType: 'text/calendar; method=REQUEST', content: event }

describe('an attachment with a content id', () => {
  test('is sent inside the HTML that refers to it, with its Content-ID and inline', async () => {
    const html = '<p><img src="cid:logo@acme"></p>'
    const { raw, read } = await compose({ html, attachments: [logo, pdf] })
    expect(typesIn(raw)).toEqual([
      'multipart/mixed',
      'multipart/alternative',
      'text/plain',
      'multipart/related',
      'text/html',
      'image/png',
      'application/pdf',
    ])
    expect(raw).toContain('multipart/related; type="text/html"')
    expect(headersOf(raw, Buffer.from('LOGO').toString('base64'))).toEqual([
      'Content-Type: image/png; name=logo.png',
      'Content-ID: <logo@acme>',
      'Content-Transfer-Encoding: base64',
      'Content-Disposition: inline; filename=logo.png',
    ])
    expect(
      read.attachments.map(({ filename, disposition, related, contentId }) => [
        filename,
        disposition,
        related,
        contentId,
      ]),
    ).toEqual([
      ['logo.png', 'inline', true, '<logo@acme>'],
      ['a.pdf', 'attachment', undefined, undefined],
    ])
    expect(read.html?.trim()).toBe(html)
  })

  test.each([
    ['percent-encoded', '<img src="cid:logo%40acme">', true],
    ['in a style', '<p style="background:url(CID:logo@acme)">', true],
    ['under another id', '<img src="cid:logo">', false],
    ['under a longer id', '<img src="cid:logo@acme.test">', false],
    ['not at all', '<p>Hi</p>', false],
    ['badly encoded', '<img src="cid:%">', false],
  ])('is a file unless the HTML refers to it: %s', async (_, html, inline) => {
    const { read } = await compose({ html, attachments: [logo] })
    expect(read.attachments.map(({ disposition, contentId }) => [disposition, contentId])).toEqual([
      inline ? ['inline', '<logo@acme>'] : ['attachment', undefined],
    ])
  })

  test('is found after millions of other references, and leaves other work its turns meanwhile', async () => {
    let turns = 0
    let ended = false
    const count = (): void => {
      turns++
      if (!ended) setImmediate(count)
    }
    setImmediate(count)
    const html = `${'<img src=cid:x%>'.repeat(200_000)}<img src="cid:${'y'.repeat(1_000_000)}"><img src="cid:logo@acme">`
    const { attachments } = await mimePartsOf([logo], html)
    ended = true
    expect(attachments).toMatchObject([{ cid: 'logo@acme', contentDisposition: 'inline' }])
    expect(turns).toBeGreaterThan(1)
  })

  test('is a file in a message without HTML', async () => {
    const { raw } = await compose({ html: null, text: 'cid:logo@acme', attachments: [logo] })
    expect(typesIn(raw)).toEqual(['multipart/mixed', 'text/plain', 'image/png'])
  })

  test('keeps its id in the outbox', () => {
    const mail = testMail({ attachments: [logo, pdf] })
    expect(fromStored(JSON.parse(JSON.stringify(toStored(mail)))).attachments).toEqual([logo, pdf])
  })
})

describe('an invitation', () => {
  test('is an alternative to the text with its method, and also a file', async () => {
    const { raw, read } = await compose({ attachments: [invitation, pdf] })
    expect(typesIn(raw)).toEqual([
      'multipart/mixed',
      'multipart/alternative',
      'text/plain',
      'text/html',
      'text/calendar',
      'application/ics',
      'application/pdf',
    ])
    expect(headersOf(raw, 'text/calendar')).toEqual([
      'Content-Type: text/calendar; charset=utf-8; method=REQUEST',
      'Content-Transfer-Encoding: base64',
    ])
    const [alternative, file] = read.attachments
    expect([alternative?.mimeType, alternative?.method]).toEqual(['text/calendar', 'REQUEST'])
    // Counted in the message, because the parser rewrites the line ends of calendars.
    expect(raw.replaceAll('\r\n', '').split(event.toString('base64'))).toHaveLength(3)
    expect([file?.filename, file?.mimeType, file?.disposition]).toEqual(['invite.ics', 'application/ics', 'attachment'])
  })

  test('is not added as a file when another attachment has its content', async () => {
    const file = { filename: 'i.ics', contentType: 'application/ics', content: Buffer.from(event) }
    const { raw } = await compose({ attachments: [invitation, file] })
    expect(typesIn(raw).slice(2)).toEqual(['text/plain', 'text/html', 'text/calendar', 'application/ics'])
  })

  test.each([
    ['text/calendar; charset="iso-8859-1"; method="cancel"', 'text/calendar; charset=iso-8859-1; method=CANCEL'],
    ['TEXT/CALENDAR;METHOD=reply;component=VEVENT', 'text/calendar; charset=utf-8; method=REPLY'],
  ])('of type %s is sent as %s', async (contentType, sent) => {
    const { raw } = await compose({ attachments: [{ ...invitation, contentType }] })
    expect(headersOf(raw, sent)).toContain(`Content-Type: ${sent}`)
  })

  test.each([
    'text/calendar',
    'text/calendar; charset=utf-8',
    'text/calendar; method=a b',
    'application/ics; method=REQUEST',
  ])('is only a file if its type is %s', async (contentType) => {
    const { raw } = await compose({ attachments: [{ ...invitation, contentType }] })
    expect(typesIn(raw)).toHaveLength(5)
    expect(raw).toContain('Content-Disposition: attachment; filename=invite.ics')
  })

  test('is sent once: a second one is a file', async () => {
    const second = { ...invitation, content: Buffer.from('BEGIN:VCALENDAR\r\n') }
    const { raw } = await compose({ attachments: [invitation, second] })
    expect(typesIn(raw).slice(4)).toEqual(['text/calendar', 'application/ics', 'text/calendar'])
  })
})

describe('the text of a message with HTML', () => {
  const html = '<h1>Grüße</h1><p>Your <a href="https://example.test/i">invoice</a> is ready.</p>'

  test('is made from the HTML if none is given', async () => {
    const { raw, read } = await compose({ html, text: null })
    expect(typesIn(raw)).toEqual(['multipart/alternative', 'text/plain', 'text/html'])
    // The reader keeps the line ends of one encoding and changes those of the other.
    expect(read.text?.trim().split(/\r?\n/)).toEqual(['Grüße', '', 'Your invoice <https://example.test/i> is ready.'])
    expect(read.html?.trim()).toBe(html)
  })

  test.each<[what: string, changes: Partial<Mail>]>([
    ['an empty text is given', { html, text: '' }],
    ['the HTML shows no text', { html: '<img src="https://example.test/p">', text: null }],
    ['the HTML has more than 1,000,000 characters', { html: `<p>${'x'.repeat(1_000_000)}</p>`, text: null }],
  ])('is left out if %s', async (_, changes) => {
    expect(typesIn((await compose(changes)).raw)).toEqual(['text/html'])
  })
})

test('A subject that looks like encoded words arrives unchanged', async () => {
  const subjects = ['=?utf-8?Q?M=C3=BCnchen?=', 'Re: =?x?b?eA==?= now', '=?', 'a =?utf-8?Q?_?= =?utf-8?Q?b?=']
  for (const subject of subjects) expect((await compose({ subject })).read.subject).toBe(subject)
})

test('A DKIM signature of a message with all kinds of parts passes an independent verifier', async () => {
  const { privateKey, record } = dkimKeys()
  const raw = await composeMime(
    testMail({
      subject: '=?utf-8?Q?x?=',
      html: '<p>Grüße <img src="cid:logo@acme"></p>',
      text: null,
      attachments: [logo, invitation, pdf],
    }),
  )
  const signed = await signDkim(raw, { domain: 'example.test', selector: 'svc1', privateKey })
  const { results } = await dkimVerify(signed, { resolver: async () => [[record]] })
  expect(results.map(({ status }) => status.result)).toEqual(['pass'])
})
