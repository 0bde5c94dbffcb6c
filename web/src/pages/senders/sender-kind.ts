/** What a kind of sender needs for its list, its form and its detail. */
import type { Gate } from '../../api/can.ts'
import type { Tone } from '../../ui/badge.tsx'
import type { Fact } from '../../ui/detail-list.tsx'
import type { Column } from '../../ui/table.tsx'
import type { ListPage } from '../../ui/use-pages.ts'
import type { FieldGroup, Values } from './form-fields.tsx'

export type Body = Record<string, unknown>

export type SenderRow = { id: string; status?: string; status_reason?: string | null; rejection_reason?: string | null }

export type SenderKind<Row extends SenderRow> = {
  /** Names the list in the URL and in the cache. */
  key: string
  title: string
  create: string
  gate: Gate
  liveOnly?: true
  labelOf: (row: Row) => string
  columns: readonly Column<Row>[]
  facts: (row: Row) => readonly Fact[]
  load: (cursor: string | undefined, mode: 'live' | 'test') => Promise<ListPage<Row>>
  read: (id: string) => Promise<Row>
  add: (body: Body) => Promise<Row>
  remove: (id: string) => Promise<unknown>
  deleteHelp: string
  /** A hook: forms offer what other lists contain. */
  useGroups: () => (values: Values) => readonly FieldGroup[]
  change?: (id: string, body: Body) => Promise<unknown>
  /** Whether this one can be changed. Default: yes. */
  canChange?: (row: Row) => boolean
  /** Why this one cannot be deleted, or undefined when it can. */
  kept?: (row: Row) => string | undefined
  check?: (id: string) => Promise<{ status: string }>
  missingOf?: (row: Row) => readonly string[]
  empty: { title: string; help: string; curl?: string }
}

export const toneOf = (status: string): Tone => {
  if (status === 'verified' || status === 'approved') return 'ok'
  if (status === 'failed' || status === 'rejected' || status === 'unverified') return 'bad'
  return 'info'
}
