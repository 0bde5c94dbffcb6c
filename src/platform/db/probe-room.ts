/** Finds out whether the server can store as much as a send does, without leaving anything behind. */
import type { Db } from './pool.ts'

/**
 * A megabyte in a table that exists until the end of its statement. A change of a row that exists may fit into the space
 * that the database already has; a new table always takes more. Its tablespace is the one of the database.
 */
const statements = [
  "set temp_tablespaces = ''",
  `create temporary table room on commit drop as
     select repeat('x', 1000) as filler from generate_series(1, 1000)`,
]

/** Throws if the server has no room. A connection of its own, because a pool may be full of statements that wait. */
export const probeRoom = async ({ connect }: Pick<Db, 'connect'>): Promise<void> => {
  const client = await connect()
  try {
    for (const text of statements) await client.query(text)
  } finally {
    await client.end().catch(() => undefined)
  }
}
