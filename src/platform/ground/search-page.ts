/**
 * Pages of a search that reads at most a window of rows, so that its cost does not depend on how many there are. Its
 * statement returns the rows that match, and the last row of a full window, marked with `ends`.
 */
import type { Position } from './cursor.ts'

export type Searched<Row> = Row & { ends: boolean }

/** A search can end before its page is full. It then goes on from `next`. */
export type SearchPage<Row> = { rows: Row[]; next: Position | null }

type Listed = { id: string; created_at: Date }

const positionOf = (row: Listed | undefined): Position | null =>
  row ? { createdAt: row.created_at.toISOString(), id: row.id } : null

/** Expects up to `limit + 1` rows. `ended` is the last row of the window, if the window was full. */
export const pageOfRows = <Row extends Listed>(found: Row[], limit: number, ended?: Row): SearchPage<Row> => {
  const rows = found.slice(0, limit)
  return { rows, next: positionOf(found.length > limit ? rows.at(-1) : ended) }
}

export const pageOfSearch = <Row extends Listed>(rows: Searched<Row>[], limit: number): SearchPage<Row> =>
  pageOfRows<Row>(
    rows.filter(({ ends }) => !ends),
    limit,
    rows.find(({ ends }) => ends),
  )
