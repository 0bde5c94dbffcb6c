import { expect, expectTypeOf, test } from 'vitest'
import { columns, flag, type Given, oneOf, type RowOf, text, time } from './columns.ts'

const note = columns({
  id: text,
  tenant_id: text.orNull,
  status: oneOf<'draft' | 'sent'>(),
  pinned: flag,
  created_at: time,
})

type NoteRow = RowOf<typeof note>

test('A table of columns gives the type of its rows, and select lists in its order', () => {
  expect(`${note}`).toBe('id, tenant_id, status, pinned, created_at')
  expect(note.of('n')).toBe('n.id, n.tenant_id, n.status, n.pinned, n.created_at')
  expectTypeOf<NoteRow>().toEqualTypeOf<{
    id: string
    tenant_id: string | null
    status: 'draft' | 'sent'
    pinned: boolean
    created_at: Date
  }>()
})

test('Parameters are named after their columns', () => {
  expectTypeOf<Given<NoteRow, 'id' | 'tenant_id'>>().toEqualTypeOf<{ id: string; tenantId: string | null }>()
})
