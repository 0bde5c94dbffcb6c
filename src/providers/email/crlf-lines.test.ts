import fc from 'fast-check'
import PostalMime from 'postal-mime'
import { expect, onTestFinished, test, vi } from 'vitest'
import { turnsDuring } from '../../../test/expect/turns.ts'
import { testMail } from '../../../test/providers/email.ts'
import { composeMime } from './compose-mime.ts'
import { crlfBytes, crlfLines } from './crlf-lines.ts'
import { digestBody } from './dkim-body.ts'

test('Line ends become CRLF in the same way in one go and in pieces, wherever a piece ends', async () => {
  const parts = fc.array(fc.constantFrom('\r', '\n', '\r\n', 'a', 'é', '😀', '\ud83d'), { maxLength: 8 })
  const around = fc.tuple(fc.integer({ min: 65_528, max: 65_537 }), parts)
  await fc.assert(
    fc.asyncProperty(around, async ([length, units]) => {
      const text = `${'x'.repeat(length)}${units.join('')}`
      expect((await crlfBytes(text)).toString()).toBe(crlfLines(text))
    }),
  )
})

test.each([
  ['200,000 characters', 200_000, 'quoted-printable'],
  ['more', 200_001, 'base64'],
])(
  'A text of %s arrives unchanged, and is examined for its encoding only if it is short',
  async (_, length, encoding) => {
    const text = 'line of text\n'.repeat(20_000).slice(0, length)
    const raw = await composeMime(testMail({ text, html: null }))
    expect(raw.toString('latin1').includes(`\r\nContent-Transfer-Encoding: ${encoding}\r\n`)).toBe(true)
    const read = await PostalMime.parse(raw)
    expect(read.text?.replaceAll('\r\n', '\n').trimEnd()).toBe(text.trimEnd())
  },
)

test('Composing and signing millions of lines leaves other work its turns', async () => {
  // Every look at the clock finds the slice over, so the turns do not depend on how fast the machine is.
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000))
  onTestFinished(() => clock.mockRestore())
  const text = '\n'.repeat(3_000_000)
  const nested = { filename: 'a.eml', contentType: 'message/rfc822', content: Buffer.alloc(2_000_000, 'a\n') }
  expect(await turnsDuring(() => crlfBytes(text))).toBeGreaterThan(5)
  expect(await turnsDuring(() => digestBody(Buffer.alloc(6_000_000, 'a \r\n')))).toBeGreaterThan(5)
  const composed = (mail: Parameters<typeof testMail>[0]) => turnsDuring(() => composeMime(testMail(mail)))
  const least = await composed({ text: 'x', html: null, attachments: [{ ...nested, content: Buffer.from('a\n') }] })
  expect(await composed({ text: 'x', html: null, attachments: [nested] })).toBeGreaterThan(least + 5)
  expect(await composed({ text, html: text })).toBeGreaterThan(least + 10)
})
