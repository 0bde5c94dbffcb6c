/** A resource whose forms are described by their fields. */
import type { Gate } from '../../api/can.ts'
import type { Fact } from '../../ui/detail-list.tsx'
import type { Resource } from '../../ui/resource.ts'
import type { FieldGroup, Values } from './form-fields.tsx'
import type { Body } from './form-routes.ts'

export type FormRow = { id: string; status?: string; status_reason?: string | null; rejection_reason?: string | null }

export type FormResource<Row extends FormRow> = Omit<Resource<Row>, 'key' | 'gone'> & {
  /** Names the list in the URL and in the cache. */
  name: string
  create: string
  gate: Gate
  liveOnly?: true
  facts: (row: Row) => readonly Fact[]
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
  check?: (id: string) => Promise<{ status?: string }>
  missingOf?: (row: Row) => readonly string[]
  empty: { title: string; help: string; curl?: string }
}

/** Of all of them: forms offer rows of other lists. */
export const formsKey = ['senders']
