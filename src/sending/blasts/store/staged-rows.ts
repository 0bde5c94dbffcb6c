/**
 * The rows of a send before its job exists. They are in a temporary table of one connection, which is gone when the
 * connection ends, so nothing is left of a send that is refused or cut off.
 */
import { newMessageColumns, newMessageTable } from '../../messages/store/insert-messages.ts'
import type { CopyTable } from '../copy-text.ts'

const columns = newMessageColumns.join(', ')

/** `place` orders the rows. `subjects` are those that a waiting message can get. */
export const createStaging = `create temp table staged_messages (
  place integer primary key, subjects text[], like messages including defaults)`

const columnsOf = (kind: string): string[] => newMessageColumns.filter((name) => newMessageTable[name].packing === kind)

const valueIfAbsent = (kind: string, value: readonly never[] | false) =>
  Object.fromEntries(columnsOf(kind).map((name) => [name, value]))

export const stagedTable: CopyTable = {
  columns: ['place', 'subjects', ...newMessageColumns],
  json: new Set(columnsOf('json')),
  absent: { ...valueIfAbsent('texts', []), ...valueIfAbsent('flag', false) },
}

export const copyStaged = `copy pg_temp.staged_messages (${stagedTable.columns.join(', ')}) from stdin`

/** Moves rows into the table of messages while the job is being scheduled. Moves none after it was canceled. */
export const moveStaged = `with job as materialized (
    select id from jobs where org_id = $1 and id = $2 and status = 'scheduling' for share
  ), moved as (
    insert into messages (${columns})
    select ${columns.replace(/(\w+)/g, 's.$1')}
    from pg_temp.staged_messages s, job
    where s.place >= $3 and s.place < $4
    returning 1
  ), waiting as (
    insert into job_subjects (org_id, job_id, message_id, created_at, tenant_id, subjects)
    select s.org_id, s.job_id, s.id, s.created_at, s.tenant_id, s.subjects
    from pg_temp.staged_messages s, job
    where s.place >= $3 and s.place < $4 and s.subjects is not null
  )
  select count(*)::int as moved from moved`
