/** Fills a list: copies of one row that are newer than it, so that it is on a later page. */
import type { TestService } from '../service/service.ts'

type Copied = {
  table: string
  orgId: string
  id: string
  /** Columns that have to differ, with SQL that makes a value of the row `r` and the number `n`. */
  unique?: Record<string, string>
  times?: number
}

/** The id keeps its time and changes its end. */
const idSql = "left(r.id, length(r.id) - 4) || lpad(n::text, 4, '0')"

export const copyRow = async (
  t: TestService,
  { table, orgId, id, unique = {}, times = 120 }: Copied,
): Promise<void> => {
  const changed = { id: idSql, created_at: "r.created_at + n * interval '1 millisecond'", ...unique }
  const pairs = Object.entries(changed).map(([column, sql]) => `'${column}', ${sql}`)
  await t.database.sql(
    `insert into ${table}
     select (jsonb_populate_record(null::${table}, to_jsonb(r) || jsonb_build_object(${pairs.join(', ')}))).*
     from ${table} r, generate_series(1, $3::int) as n
     where r.org_id = $1 and r.id = $2`,
    [orgId, id, times],
  )
}
