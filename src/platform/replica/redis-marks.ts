/** Marks of writes that processes on several machines share through Redis. */
import { createClient } from 'redis'
import type { Log } from '../ground/log.ts'
import { makeReplaceIfReplica, redisOptions, withoutUrl } from '../ground/redis-connection.ts'
import { makeMemoryMarks, markLifeMs, type WriteMarks } from './write-marks.ts'

type Options = {
  url: string
  log: Pick<Log, 'info' | 'warn'>
  /** The start of every key. */
  prefix: string
  timeoutMs?: number
}

/**
 * The time to live of a key says how old a mark is, by the clock of Redis alone. After a reconnect, marks may have been
 * lost with the server that had them, so everything counts as written at that moment. While Redis does not respond, no
 * age is known. A mark that could not be written then is written once Redis responds again.
 */
export const makeRedisMarks = ({ url, log, prefix, timeoutMs = 250 }: Options): WriteMarks => {
  const client = withoutUrl(() => createClient(redisOptions(url, timeoutMs)))
  const replaceIfReplica = makeReplaceIfReplica(client, () => closed)
  const own = makeMemoryMarks()
  const unwritten = new Set<string>()
  let connectedAt = performance.now()
  let silentUntil = Number.NEGATIVE_INFINITY
  let warned = false
  let closed = false

  const lost = (cause: unknown): undefined => {
    if (warned || closed) return
    warned = true
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause)
    log.warn({ reason }, 'marks of writes unavailable, reads go to the primary')
  }

  const replied = (): void => {
    silentUntil = Number.NEGATIVE_INFINITY
    if (!warned) return
    warned = false
    log.info('marks of writes available again')
  }

  /** Undefined if there is no reply in time. */
  const ask = async <T>(command: () => Promise<T>): Promise<T | undefined> => {
    if (!client.isReady || performance.now() < silentUntil) return lost('not connected')
    const late = Promise.withResolvers<undefined>()
    // `setImmediate` lets the event loop read a reply that came while this process was busy.
    const timer = setTimeout(() => setImmediate(late.resolve, undefined), timeoutMs)
    try {
      const reply = await Promise.race([command(), late.promise])
      if (reply !== undefined) {
        replied()
        return reply
      }
      // Waiting again for each request would delay them all.
      silentUntil = performance.now() + 4 * timeoutMs
      return lost(`no reply within ${timeoutMs} ms`)
    } catch (error) {
      replaceIfReplica(error)
      return lost(error)
    } finally {
      clearTimeout(timer)
    }
  }

  const write = (subjects: readonly string[]) =>
    ask(() =>
      Promise.all(
        subjects.map((subject) =>
          client.set(`${prefix}wrote:${subject}`, '1', { expiration: { type: 'PX', value: markLifeMs } }),
        ),
      ),
    )

  const writeRest = async (): Promise<void> => {
    const rest = [...unwritten]
    unwritten.clear()
    if (rest.length > 0 && !(await write(rest))) for (const subject of rest) unwritten.add(subject)
  }

  client.on('error', lost)
  client.on('ready', () => {
    connectedAt = performance.now()
    replied()
    void writeRest()
  })
  client.connect().catch(() => undefined)

  return {
    wrote: async (subjects) => {
      await own.wrote(subjects)
      if (unwritten.size > 0) void writeRest()
      if (!(await write(subjects))) for (const subject of subjects) unwritten.add(subject)
    },
    age: async (subjects) => {
      const lives = await ask(() => Promise.all(subjects.map((subject) => client.pTTL(`${prefix}wrote:${subject}`))))
      if (!lives) return null
      const ownAge = (await own.age(subjects)) as number
      // A key without a mark has a negative life. Redis rounds to milliseconds.
      const ages = lives.map((life) => (life < 0 ? Number.POSITIVE_INFINITY : Math.max(0, markLifeMs - life - 1)))
      return Math.min(ownAge, performance.now() - connectedAt, ...ages)
    },
    close: async () => {
      closed = true
      client.destroy()
    },
  }
}
