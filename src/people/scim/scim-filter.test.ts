import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPatch } from './read-patch.ts'
import { ScimFault } from './scim-fault.ts'
import { readFilter, readPath } from './scim-filter.ts'

const names = ['userName', 'externalId', 'name.givenName', 'emails.value', 'id']
const inEitherCase = (text: string) => fc.boolean().map((upper) => (upper ? text.toUpperCase() : text))
const storable = fc
  .string({ unit: 'binary', maxLength: 50 })
  .filter((text) => text.isWellFormed() && !text.includes('\0'))
const condition = fc.record({
  name: fc.constantFrom(...names).chain(inEitherCase),
  operator: inEitherCase('eq'),
  value: fc.oneof(storable, fc.boolean()),
})

describe('a filter', () => {
  it('AD-140 gives back every value that was written as JSON, in any case of names and operators', () => {
    fc.assert(
      fc.property(fc.uniqueArray(condition, { selector: ({ name }) => name.toLowerCase(), minLength: 1 }), (given) => {
        const text = given
          .map(({ name, operator, value }) => `${name} ${operator} ${JSON.stringify(value)}`)
          .join(' AND ')
        expect(readFilter(text)).toEqual(given.map(({ name, value }) => ({ attribute: name.toLowerCase(), value })))
      }),
    )
  })

  it('AD-140 is read or refused as a fault of the caller, whatever its text', () => {
    const part = fc.constantFrom(
      'userName',
      ' eq ',
      '"x"',
      '(',
      ')',
      '[',
      ']',
      '.',
      ' and ',
      ' not ',
      '"',
      '\\',
      'true',
      '😀',
    )
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(part, { maxLength: 200 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(text, (given) => {
        for (const read of [readFilter, readPath]) {
          try {
            read(given)
          } catch (error) {
            expect(error).toBeInstanceOf(ScimFault)
            expect((error as ScimFault).status).toBe(400)
          }
        }
      }),
    )
  })

  it('AD-140 is bounded in length, depth and number of comparisons', () => {
    const deep = `${'('.repeat(900)}id eq "x"${')'.repeat(900)}`
    const wide = Array.from({ length: 11 }, (_, i) => `a${i} eq "x"`).join(' and ')
    for (const text of [`id eq "${'x'.repeat(2_000)}"`, deep, wide, `a[b[c[d[e[f eq "x"]]]]]`]) {
      expect(() => readFilter(text), text.slice(0, 50)).toThrow(ScimFault)
    }
    expect(readFilter('((((id eq "x"))))')).toEqual([{ attribute: 'id', value: 'x' }])
  })
})

describe('a path', () => {
  it('AD-140 names an attribute, a selected value or a part of it', () => {
    expect(readPath('members[value eq "mem_1"]')).toEqual({
      attribute: 'members',
      conditions: [{ attribute: 'value', value: 'mem_1' }],
    })
    expect(readPath('emails[type eq "work"].value')).toEqual({
      attribute: 'emails.value',
      conditions: [{ attribute: 'type', value: 'work' }],
    })
    const urn = 'urn:ietf:params:scim:schemas:core:2.0:User:name.givenName'
    expect(readPath(urn)).toEqual({ attribute: 'name.givenname', conditions: undefined })
    for (const text of ['', ' ', '[', 'a b', 'members[value eq "x"', 'members]', '.a']) {
      expect(() => readPath(text), text).toThrow(ScimFault)
    }
  })
})

it('AD-140 Any JSON value is read as operations or refused as a fault of the caller', () => {
  const operation = fc.record(
    {
      op: fc.oneof(fc.constantFrom('add', 'Replace', 'REMOVE'), fc.constant({ toString: 1 }), fc.jsonValue()),
      path: fc.oneof(fc.constantFrom('members', '__proto__', 'constructor.name', ''), fc.jsonValue()),
      value: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.record({ Operations: fc.array(operation) })), (body) => {
      try {
        readPatch(body)
      } catch (error) {
        expect(error).toBeInstanceOf(ScimFault)
      }
    }),
  )
})
