import type { Db } from './pool.ts'
import type { Statement } from './statement.ts'

/** The rows of all orgs, a page at a time. The statement returns those after an org, in the order of their orgs. */
export async function* byOrg<Row extends { org_id: string }>(
  db: Pick<Db, 'rows'>,
  page: Statement<{ afterOrgId: string; limit: number }, Row>,
  limit: number,
): AsyncGenerator<Row> {
  for (let afterOrgId = ''; ; ) {
    const rows = await db.rows(page, { afterOrgId, limit })
    yield* rows
    if (rows.length < limit) return
    afterOrgId = rows.at(-1)!.org_id
  }
}
