import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { newId } from './ids.ts'

test('S-009 a cursor is base64url without padding and decodes to the position it was made from', () => {
  fc.assert(
    fc.property(fc.date({ min: new Date(0), max: new Date('2999-01-01'), noInvalidDate: true }), (at) => {
      const position = { createdAt: at.toISOString(), id: newId('suppression') }
      const cursor = encodeCursor(position)
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/)
      expect(decodeCursor(cursor)).toEqual(position)
    }),
  )
})

test('S-012 only cursors that the service made decode', () => {
  const good = { c: '2026-01-01T00:00:00.000Z', i: newId('suppression') }
  const payloads: unknown[] = [
    { ...good, extra: 1 },
    { c: good.c },
    { i: good.i },
    { ...good, c: 'yesterday' },
    { ...good, c: '2026-13-01T00:00:00.000Z' },
    { ...good, c: '2026-01-01' },
    { ...good, i: "x' or 1=1" },
    { ...good, c: 5 },
    [good],
    null,
    'text',
  ]
  for (const payload of payloads) {
    expect(decodeCursor(Buffer.from(JSON.stringify(payload)).toString('base64url')), JSON.stringify(payload)).toBe(
      undefined,
    )
  }
  const reordered = Buffer.from(JSON.stringify({ i: good.i, c: good.c })).toString('base64url')
  expect(decodeCursor(reordered)).toBe(undefined)
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => decodeCursor(text) === undefined))
  fc.assert(fc.property(fc.base64String(), (text) => decodeCursor(text) === undefined))
})
