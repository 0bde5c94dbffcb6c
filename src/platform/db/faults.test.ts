import { expect, test } from 'vitest'
import { hadNoEffect, isDatabaseFault, lostConnection, RolledBackFault } from './faults.ts'

const coded = (code: string) => Object.assign(new Error(code), { code })

test('A broken pipe is a lost connection, not an SQLSTATE of five letters', () => {
  expect(lostConnection(coded('EPIPE'))).toBe(true)
  expect(hadNoEffect(coded('EPIPE'))).toBe(false)
})

test('Rejected statements, lost connections and swallowed errors are faults of the database, other errors are not', () => {
  for (const code of ['23505', '57P01', 'XX000', 'ECONNREFUSED', 'EPIPE'])
    expect(isDatabaseFault(coded(code))).toBe(true)
  expect(isDatabaseFault(new RolledBackFault())).toBe(true)
  expect(isDatabaseFault(new TypeError('x is undefined'))).toBe(false)
  expect(isDatabaseFault(coded('ENOSPC'))).toBe(false)
})

test('A read-only server and a server that does not reply count as a lost connection', () => {
  expect(lostConnection(coded('25006'))).toBe(true)
  expect(hadNoEffect(coded('25006'))).toBe(true)
  for (const message of ['Query read timeout', 'timeout expired', 'Connection terminated due to connection timeout']) {
    expect(lostConnection(new Error(message))).toBe(true)
    expect(hadNoEffect(new Error(message))).toBe(false)
  }
  expect(lostConnection(coded('25001'))).toBe(false)
})
