import { statement } from './statement.ts'

/** Creates the partition of a month. If the default partition already has rows of that month, it keeps them. */
export const ensureMonth = statement<{ parent: string; month: string }, unknown>(
  'db.ensure_month',
  'select ensure_month(:parent, :month::date)',
)
