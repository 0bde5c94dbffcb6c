import { createHash, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { looksRandom } from './key-strength.ts'

const bytes = (byteAt: (i: number) => number): Buffer => Buffer.from(Array.from({ length: 32 }, (_, i) => byteAt(i)))
const text = (words: string): Buffer => Buffer.from(words.padEnd(32, '!')).subarray(0, 32)
const spelled = (characters: string): Buffer => Buffer.from(characters, 'base64')

test.each<[string, Buffer]>([
  ['zeros', Buffer.alloc(32)],
  ['equal bytes', Buffer.alloc(32, 0xa5)],
  ['a repeated byte pair', Buffer.alloc(32, 'a5c3', 'hex')],
  ['eight random bytes repeated', Buffer.concat(Array(4).fill(randomBytes(8)))],
  ['sixteen random bytes repeated', Buffer.concat(Array(2).fill(randomBytes(16)))],
  ['a counter', bytes((i) => i)],
  ['a counter that starts elsewhere and wraps', bytes((i) => 250 + i)],
  ['a counter backwards', bytes((i) => 255 - i)],
  ['a counter in steps of seven', bytes((i) => i * 7)],
  ['a counter in 16-bit words', bytes((i) => (i % 2 === 0 ? 0 : i))],
  ['two counters that alternate', bytes((i) => (i % 2 === 0 ? i : 255 - i))],
  ['ten random bytes among zeros', Buffer.concat([randomBytes(10), Buffer.alloc(22)])],
  ['twenty-four random bytes, then zeros', Buffer.concat([randomBytes(24), Buffer.alloc(8)])],
  ['English words', text('The quick brown fox jumps over a lazy dog')],
  ['words with a line end', text('correct horse battery staple 12\n')],
  ['words in another alphabet', text('быстрая коричневая лиса прыгает')],
  ['a UUID without its last digits', text('6f1c1b0e-9d47-4c53-8a2e-75d0b93f4ce1')],
  ['hex digits', text(randomBytes(16).toString('hex'))],
  ['lower-case words used as base64', spelled('thisismyverysecretmasterkeywhichnobodyknows')],
  ['upper-case words used as base64', spelled('THISISMYVERYSECRETMASTERKEYWHICHNOBODYKNOWS')],
  ['lower-case words and digits used as base64', spelled('change-me-please-2026-change-me-please-2027')],
  ['one character used as base64', spelled('A'.repeat(43))],
])('%s do not look random', (_, key) => {
  expect(key).toHaveLength(32)
  expect(looksRandom(key)).toBe(false)
})

test('100,000 random keys look random', () => {
  const refused: string[] = []
  for (let i = 0; i < 100_000; i++) {
    const key = randomBytes(32)
    if (!looksRandom(key)) refused.push(key.toString('hex'))
  }
  expect(refused).toEqual([])
}, 60_000)

test('keys derived by a hash look random', () => {
  for (let i = 0; i < 1_000; i++) expect(looksRandom(createHash('sha256').update(`${i}`).digest())).toBe(true)
})
