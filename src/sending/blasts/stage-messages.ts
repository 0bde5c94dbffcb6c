/** A connection with the rows of one send, from which they are moved into the table of messages. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import type { Db } from '../../platform/db/pool.ts'
import { copyStaged, createStaging, moveStaged } from './store/staged-rows.ts'

export interface StagedMessages {
  /** Adds rows as lines for COPY. */
  add(lines: AsyncIterable<string>): Promise<void>
  /** Moves the rows of these places. Returns how many there were; none if the job is no longer being scheduled. */
  move(job: { orgId: string; id: string }, from: number, to: number): Promise<number>
  close(): Promise<void>
}

export const openStaging = async (db: Db): Promise<StagedMessages> => {
  const client = await db.connect()
  const close = () => client.end().catch(() => undefined)
  try {
    await client.query(createStaging)
  } catch (error) {
    await close()
    throw error
  }
  return {
    add: async (lines) => {
      await pipeline(Readable.from(lines), client.query(copyFrom(copyStaged)))
    },
    move: async ({ orgId, id }, from, to) => {
      const { rows } = await client.query<{ moved: number }>(moveStaged, [orgId, id, from, to])
      return rows[0]?.moved ?? 0
    },
    close,
  }
}
