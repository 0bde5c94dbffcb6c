import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchesDltContent } from './dlt-content.ts'

test.each([
  ['Your code is {#var#}', 'Your code is 123456', true],
  ['Your code is {#var#}', 'Your code is ', false],
  ['Your code is {#var#}', `Your code is ${'1'.repeat(30)}`, true],
  ['Your code is {#var#}', `Your code is ${'1'.repeat(31)}`, false],
  ['Your code is {#var#}.', 'Your code is 123456', false],
  ['Your code is {#var#}', 'your code is 123456', false],
  ['Your  code\nis {#var#}', ' Your code is\t123456 ', true],
  ['{#var#} is {#var#} for {#var#}', 'is is 1 for Acme', true],
  ['{#var#}{#var#}', '1', false],
  ['{#var#}{#var#}', '12', true],
  ['a.c {#var#}', 'abc 1', false],
  ['', '', true],
  ['Hello', 'Hello', true],
])('S-052 The content %j matches the text %j: %s', (content, body, matches) => {
  expect(matchesDltContent(content, body)).toBe(matches)
})

test('S-052 Content matches like a pattern in which each variable stands for 1 to 30 characters', () => {
  const piece = fc.array(fc.constantFrom('a', 'b', ' ', '.'), { maxLength: 4 }).map((list) => list.join(''))
  const words = (text: string) => text.replace(/\s+/g, ' ').trim()
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 5 }),
      fc.string({ maxLength: 40 }),
      piece,
      (pieces, a, b) => {
        const content = pieces.join('{#var#}')
        const pattern = words(content).split('{#var#}').map(RegExp.escape).join('.{1,30}')
        for (const body of [a, b, pieces.join('a'), pieces.join(b)]) {
          expect(matchesDltContent(content, body)).toBe(new RegExp(`^${pattern}$`, 'su').test(words(body)))
        }
      },
    ),
  )
})
