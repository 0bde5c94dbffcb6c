import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inboundKinds, meaningOf } from './keywords.ts'

const reply = { kind: 'reply', keyword: null }
const optOut = (keyword: string) => ({ kind: 'opt_out', keyword })

test.each([
  'STOP',
  'stop',
  'Stop.',
  'stop texting me',
  'S.T.O.P',
  '"stop"',
  '1. STOP',
  'STOP ALL',
  '  \n stop',
  '🛑 Stop',
  'ＳＴＯＰ',
])('S-256 S-257 SD-67 %j opts out', (text) => expect(meaningOf(text)).toEqual(optOut('STOP')))

test.each(['STOP,please', 'stop-it', 'Stop/end', '...stop!now'])(
  'S-257 R-40 %j opts out, because its first run of letters is STOP',
  (text) => expect(meaningOf(text)).toEqual(optOut('STOP')),
)

test.each([
  ['STOPALL', 'STOPALL'],
  ['unsubscribe', 'UNSUBSCRIBE'],
  ['Cancel.', 'CANCEL'],
  ['(end)', 'END'],
  ['Quit!! ', 'QUIT'],
  [' q.u.i.t ', 'QUIT'],
])('S-256 S-258 %j opts out as the whole message', (text, keyword) => expect(meaningOf(text)).toEqual(optOut(keyword)))

test.each(['cancel my order', 'end of story', 'quit it', 'stopall now', 'unsubscribe me', 'all quit'])(
  'S-258 S-259 %j is an ordinary reply',
  (text) => expect(meaningOf(text)).toEqual(reply),
)

test.each(['ok STOP', 'please stop', 'STOPPED', 'nonstop', 'bus stop', 'a.stop', 'help me', 'info please'])(
  'S-261 SD-67 %j is an ordinary reply',
  (text) => expect(meaningOf(text)).toEqual(reply),
)

test.each(['START', 'UNSTOP', 'YES', '', '   ', '123', '👍', 'СТОП', 'Grüße'])(
  'SD-68 %j is an ordinary reply',
  (text) => expect(meaningOf(text)).toEqual(reply),
)

test.each([
  ['HELP', 'HELP'],
  ['help?', 'HELP'],
  ['Info.', 'INFO'],
])('S-260 %j asks for help', (text, keyword) => expect(meaningOf(text)).toEqual({ kind: 'help', keyword }))

describe('any text', () => {
  const nonLetters = fc.string({ unit: fc.constantFrom('.', '!', '1', ' ', '\n', '-', '🛑', '"'), maxLength: 8 })
  const cased = fc.constantFrom('STOP', 'stop', 'Stop', 'sToP')

  test('S-256 S-257 opts out when STOP comes first, whatever non-letters are before it and whatever follows', () => {
    fc.assert(
      fc.property(nonLetters, cased, fc.string(), (before, word, after) => {
        expect(meaningOf(`${before}${word} ${after}`)).toEqual(optOut('STOP'))
      }),
    )
  })

  test('S-261 is no opt-out when another word comes first', () => {
    const other = fc.constantFrom('ok', 'please', 'non', 'No', 'ütop')
    fc.assert(
      fc.property(nonLetters, other, fc.constantFrom('STOP', 'QUIT', 'END'), (before, word, keyword) => {
        expect(meaningOf(`${before}${word} ${keyword}`)).toEqual(reply)
      }),
    )
  })

  test('has a meaning, however long it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(inboundKinds).toContain(meaningOf(text).kind)
      }),
    )
    expect(meaningOf(`${'! '.repeat(100_000)}STOP`)).toEqual(optOut('STOP'))
    expect(meaningOf(`STOP ${'x'.repeat(1_000_000)}`)).toEqual(optOut('STOP'))
  })
})
