/** Redacts the content of old inbound messages. */
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { inboundRedactedAtOnce, redactInbound } from './store.ts'

const day = 86_400_000

/** Redacts content older than `contentDays`, if set. Returns the number of messages. */
export type RedactInbound = () => Promise<number>

type Needs = { db: Db; clock: Clock; contentDays: number | undefined }

export const makeRedactInbound =
  ({ db, clock, contentDays }: Needs): RedactInbound =>
  async () => {
    if (contentDays === undefined) return 0
    const before = new Date(clock.millis() - contentDays * day)
    for (let total = 0; ; ) {
      const redacted = await db.change(redactInbound, { before, at: clock.now() })
      total += redacted
      if (redacted < inboundRedactedAtOnce) return total
    }
  }
