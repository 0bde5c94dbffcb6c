/** Sends an export while it is made. Each one keeps a connection to the database busy, so few run at a time. */
import { Readable } from 'node:stream'
import type { Audit, UserActor } from '../../journal/audit/append.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { hourMs } from '../../platform/ground/units.ts'
import type { Limiter } from '../../platform/limits/limiter.ts'
import { takeOne } from './export-limits.ts'
import type { WriteOrg } from './write-org.ts'

const atOnce = 4
const atOncePerOrg = 2

export type StreamOrg = (orgId: string, actor: UserActor) => Promise<Readable>

type Needs = {
  db: Db
  clock: Clock
  limiter: Limiter | undefined
  audit: Audit
  writeOrg: WriteOrg
  /** A client that takes nothing for this long has left, and no export may last longer than `wholeMs`. */
  limits?: { stallMs: number; wholeMs: number }
}

async function* startingWith(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* rest
}

/** Otherwise a client that never reads would keep a connection and a snapshot of the database. */
const endWhenStalled = (stream: Readable, { stallMs, wholeMs }: { stallMs: number; wholeMs: number }): void => {
  const end = (reason: string): void => void stream.destroy(new Error(reason))
  const whole = setTimeout(() => end('the export takes too long'), wholeMs)
  let stalled = setTimeout(() => end('the client takes no data'), stallMs)
  stream.on('data', () => {
    clearTimeout(stalled)
    stalled = setTimeout(() => end('the client takes no data'), stallMs)
  })
  stream.pause()
  stream.on('close', () => {
    clearTimeout(whole)
    clearTimeout(stalled)
  })
}

export const makeStreamOrg = (needs: Needs): StreamOrg => {
  const { db, clock, limiter, audit, writeOrg, limits = { stallMs: 60_000, wholeMs: hourMs } } = needs
  const running: string[] = []

  const assertMayRun = (orgId: string): void => {
    const own = running.filter((other) => other === orgId).length
    if (running.length < atOnce && own < atOncePerOrg) return
    throw new Failure('RATE_LIMITED', { retryAfter: 30, flatMessage: 'Too many exports are running. Try again later.' })
  }

  return async (orgId, actor) => {
    assertMayRun(orgId)
    running.push(orgId)
    const ended = (): void => void running.splice(running.indexOf(orgId), 1)
    try {
      await takeOne({ limiter, clock }, { name: `{${actor.userId}}:org-exports`, limit: 5, windowMs: hourMs })
      const entry = { action: 'org.exported', resourceType: 'export', resourceId: null } as const
      await db.tx((tx) => audit(tx, { orgId, actor, ...entry, metadata: { mode: 'stream' } }))
      const parts = writeOrg(orgId)
      // Faults at the beginning are answered with an error.
      const first = await parts.next()
      const stream = Readable.from(startingWith(first.value as Buffer, parts), { objectMode: false })
      endWhenStalled(stream, limits)
      stream.on('close', () => {
        ended()
        // A stream that nobody has read from ends without its generator, which would keep the connection.
        parts.return(undefined).catch(() => undefined)
      })
      return stream
    } catch (error) {
      ended()
      throw error
    }
  }
}
