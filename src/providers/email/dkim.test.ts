import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { describe, expect, test } from 'vitest'
import { dkimKeys, testMail, to } from '../../../test/providers/email.ts'
import { composeMime } from './compose-mime.ts'
import { signDkim } from './dkim.ts'
import type { Mail } from './email-provider.ts'

describe('a DKIM signature', () => {
  const { privateKey, record } = dkimKeys()
  const dkim = { domain: 'example.test', selector: 'svc1', privateKey }
  const resolver = async (name: string, type: string) => {
    if (name === 'svc1._domainkey.example.test' && type === 'TXT') return [[record]]
    throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  }
  const verify = async (raw: Buffer) => (await dkimVerify(raw, { resolver })).results

  test('passes an independent verifier as rsa-sha256, relaxed/relaxed, aligned with the sender', async () => {
    const mails = [
      testMail(),
      testMail({ subject: 'Grüße', text: 'a\r\n\r\n\r\n', html: null }),
      testMail({
        subject: `"${'z'.repeat(990)}"`,
        headers: {
          'List-Id': '"Ácme  news" <news.example.test>',
          'List-Unsubscribe': `<https://example.test/${'é'.repeat(900)}>,<mailto:"a"@example.test>`,
        },
      }),
      testMail({
        headers: {
          'List-Unsubscribe': '<https://example.test/u>',
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        },
        attachments: [
          { filename: 'a.bin', contentType: 'application/octet-stream', content: Buffer.alloc(100_000, 7) },
        ],
      }),
    ]
    for (const mail of mails) {
      const [result, ...others] = await verify(await signDkim(await composeMime(mail), dkim))
      expect(others).toEqual([])
      expect(result).toMatchObject({
        signingDomain: 'example.test',
        selector: 'svc1',
        algo: 'rsa-sha256',
        format: 'relaxed/relaxed',
        status: { result: 'pass', aligned: 'example.test' },
      })
      const signedHeaders = result?.signingHeaders?.keys.toLowerCase().split(/:\s*/) ?? []
      expect(signedHeaders).toEqual(expect.arrayContaining(['from', 'to', 'subject', 'date', 'message-id']))
      for (const name of Object.keys(mail.headers)) expect(signedHeaders).toContain(name.toLowerCase())
    }
  })

  test('fails when the message is changed', async () => {
    const signed = (await signDkim(await composeMime(testMail()), dkim)).toString('latin1')
    for (const changed of [signed.replace('A subject', 'B subject'), signed.replace('<p>Hi</p>', '<p>Ho</p>')]) {
      expect((await verify(Buffer.from(changed, 'latin1')))[0]?.status.result).not.toBe('pass')
    }
  })

  test('with a key that cannot sign is an error', async () => {
    const raw = await composeMime(testMail())
    await expect(signDkim(raw, { ...dkim, privateKey: 'not a key' })).rejects.toThrow('example.test cannot sign')
  })

  const signedText = async (overrides: Parameters<typeof testMail>[0] = {}) =>
    (await signDkim(await composeMime(testMail(overrides)), dkim)).toString('latin1')
  const resultOf = async (text: string) => (await verify(Buffer.from(text, 'latin1')))[0]?.status.result
  const unsubscribing = {
    'List-Unsubscribe': '<https://example.test/u>',
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  }

  test.each([
    'From: Mallory <mallory@other.test>',
    'To: victim@other.test',
    'Cc: victim@other.test',
    'Subject: Another subject',
    'Reply-To: mallory@other.test',
    'Date: Mon, 16 Nov 2026 09:00:00 +0000',
    'Message-ID: <another@other.test>',
    'MIME-Version: 1.0',
    'Content-Type: text/html',
    'List-Unsubscribe: <https://other.test/u>',
    'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
  ])('fails when a header is added: %s', async (added) => {
    const mails = [{}, { cc: to('c@example.test'), replyTo: to('r@example.test'), headers: unsubscribing }]
    for (const overrides of mails) {
      const text = await signedText(overrides)
      expect(await resultOf(text)).toBe('pass')
      expect(await resultOf(`${added}\r\n${text}`)).toBe('fail')
      expect(await resultOf(text.replace('\r\n\r\n', () => `\r\n${added}\r\n\r\n`))).toBe('fail')
      expect(await resultOf(`X-Relay: other\r\n${text}`)).toBe('pass')
    }
  })

  test('lists each protected header once more than it occurs, and every other signed header as often', async () => {
    const mails: [Partial<Mail>, number][] = [
      [{}, 1],
      [{ cc: to('c@example.test'), replyTo: to('r@example.test'), headers: unsubscribing }, 2],
    ]
    for (const [overrides, present] of mails) {
      const [, list = ''] = (await signedText(overrides)).match(/ h=([^;]+);/) ?? []
      const names = list.replace(/\s/g, '').split(':')
      const count = (name: string) => names.filter((other) => other === name).length
      for (const name of ['from', 'to', 'subject', 'date', 'message-id', 'mime-version', 'content-type']) {
        expect(count(name), name).toBe(2)
      }
      for (const name of ['cc', 'reply-to', 'list-unsubscribe', 'list-unsubscribe-post']) {
        expect(count(name), name).toBe(present)
      }
      expect(count('x-service-message-id')).toBe(1)
    }
  })

  test('has lines that every server accepts, and leaves the message unchanged', async () => {
    const raw = await composeMime(testMail())
    const out = await signDkim(raw, { ...dkim, domain: 'bücher.example', selector: 's'.repeat(63) })
    const header = out.subarray(0, out.length - raw.length).toString('latin1')
    expect(out.subarray(-raw.length)).toEqual(raw)
    expect(header).toContain('d=xn--bcher-kva.example;')
    expect(header.endsWith('\r\n')).toBe(true)
    const lines = header.slice(0, -2).split('\r\n')
    for (const line of lines.slice(1)) expect(line).toMatch(/^ [!-~][ -~]{0,110}$/)
  })

  test('passes an independent verifier for any white space in headers and body', async () => {
    const space = fc.constantFrom(' ', '\t', '\r\n', '\r\n ', 'a', '\u00e9', '=', '.', ':', ';')
    const body = fc.array(space, { maxLength: 40 }).map((parts) => parts.join(''))
    const value = fc
      .array(fc.constantFrom(' ', '\t', '\r\n ', 'a', ':', '\u00e9'), { maxLength: 20 })
      .map((parts) => `x${parts.join('')}x`)
    await fc.assert(
      fc.asyncProperty(value, value, body, async (subject, other, content) => {
        const head = `From: a@example.test\r\nSUBJECT : ${subject}\r\nReferences:${other}\r\nreferences: ${subject}`
        const raw = Buffer.from(`${head}\r\n\r\n${content}`, 'latin1')
        expect((await verify(await signDkim(raw, dkim)))[0]?.status).toMatchObject({ result: 'pass' })
      }),
      {
        numRuns: 100,
        examples: [
          ['x', 'x', ''],
          ['x', 'x', ' '],
          ['x', 'x', '\r\n\r\n'],
          ['x', 'x', ' \r\n a'],
        ],
      },
    )
  })
})
