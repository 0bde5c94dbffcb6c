/** A connection with the rows of one send, from which they are moved into the table of messages. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import type { Db } from '../../platform/db/pool.ts'
import { copyStaged, createStaging, moveStaged } from './store/staged-rows.ts'

export const openStaging = async (db: Db) => {
  const client = await db.connect()
  const close = (): Promise<void> => client.end().catch(() => undefined)
  try {
    await client.query(createStaging)
  } catch (error) {
    await close()
    throw error
  }
  return {
    /** Adds rows as lines for COPY. */
    add: async (lines: AsyncIterable<string>): Promise<void> => {
      await pipeline(Readable.from(lines), client.query(copyFrom(copyStaged)))
    },
    /** Moves the rows of these places. Returns how many there were; none if the job is no longer being scheduled. */
    move: async ({ orgId, id }: { orgId: string; id: string }, from: number, to: number): Promise<number> => {
      const { rows } = await client.query<{ moved: number }>(moveStaged, [orgId, id, from, to])
      return rows[0]?.moved ?? 0
    },
    close,
  }
}

export type StagedMessages = Awaited<ReturnType<typeof openStaging>>
