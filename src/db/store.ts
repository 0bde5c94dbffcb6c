import { statement } from './statement.ts'

/** Makes the partition of a month; a month whose rows stand in the default partition stays there. */
export const ensureMonth = statement<{ parent: string; month: string }, unknown>(
  'db.ensure_month',
  'select ensure_month(:parent, :month::date)',
)
