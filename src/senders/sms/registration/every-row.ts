import type { AfterRow } from '../store/registration-rows.ts'

type Keyed = { org_id: string; id: string }

const pageSize = 100
/** The registry limits how many calls it takes per second. */
const concurrency = 4

const byKey = (a: Keyed, b: Keyed): number => {
  if (a.org_id !== b.org_id) return a.org_id < b.org_id ? -1 : 1
  return a.id < b.id ? -1 : 1
}

/** Works on every row once, page by page in the order of the keys. */
export const everyRow = async <R extends Keyed>(
  read: (page: AfterRow) => Promise<R[]>,
  work: (row: R) => Promise<void>,
): Promise<void> => {
  let after: Keyed = { org_id: '', id: '' }
  for (;;) {
    const rows = (await read({ afterOrg: after.org_id, afterId: after.id, limit: pageSize })).sort(byKey)
    const waiting = rows.values()
    const lane = async (): Promise<void> => {
      for (const row of waiting) await work(row)
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, rows.length) }, lane))
    const last = rows.at(-1)
    if (!last || rows.length < pageSize) return
    after = last
  }
}
