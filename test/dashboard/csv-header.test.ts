import { expect, test } from 'vitest'
import {
  guessTarget,
  isReachable,
  isTwice,
  readHeader,
  withHeader,
} from '../../web/src/pages/audiences/detail/csv-header.ts'

test.each([
  ['email,name\r\na@b.test,A\r\n', ['email', 'name'], 'a@b.test,A\r\n'],
  ['\uFEFF"E-Mail", plan \na@b.test,pro', ['E-Mail', 'plan'], 'a@b.test,pro'],
  ['"a ""quoted"", name",b\r\n\r\n1,2', ['a "quoted", name', 'b'], '1,2'],
  ['"two\nlines",b\n1,2', ['two\nlines', 'b'], '1,2'],
  ['only', ['only'], ''],
  ['', [''], ''],
])('Reads the header of %j', (text, names, rows) => {
  const header = readHeader(text)
  expect([header.names, text.slice(header.end)]).toEqual([names, rows])
})

test('Gives columns other names and leaves the rows as they are', () => {
  const text = 'Mail,"x ""y"""\r\n"a@b.test","1\n2"\r\n'
  const header = readHeader(text)
  expect(withHeader(text, header, ['email', 'x "y"'])).toBe('"email","x ""y"""\r\n"a@b.test","1\n2"\r\n')
})

test('Guesses columns by their names, and needs a reachable one without repetition', () => {
  expect(['E-Mail', 'Phone number', 'Full name', 'plan'].map(guessTarget)).toEqual(['email', 'phone', 'name', 'plan'])
  expect([isReachable(['phone']), isReachable(['name'])]).toEqual([true, false])
  expect([isTwice(['email', 'email']), isTwice(['email', 'phone'])]).toEqual([true, false])
})
