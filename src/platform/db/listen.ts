import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Log } from '../ground/log.ts'

type Needs = {
  connect: () => Promise<pg.Client>
  log: Log
  channel: string
  /** While it listens, the connection holds an advisory lock of this class, so that other processes see it. */
  presence?: number
  onMessage: (payload: string) => void
  /** Called when the connection is lost and when it is up (again): notifications may have been missed. */
  onGap: () => void
  /** How long a new connection waits for the reply to its statements. */
  replyTimeoutMs?: number
}

/** The lock is shared and has the number of its own connection, so it never waits. */
const showPresence = async (client: pg.Client, presence: number): Promise<number> => {
  const { rows } = await client.query<{ pid: number }>(
    'select pg_backend_pid() as pid, pg_advisory_lock_shared($1::int, pg_backend_pid())',
    [presence],
  )
  return (rows[0] as { pid: number }).pid
}

/** Listens for NOTIFY on a channel, on one connection that reconnects by itself. */
export const listen = async (needs: Needs) => {
  const { connect, log, channel, presence, onMessage, onGap, replyTimeoutMs = 10_000 } = needs
  let client: pg.Client | undefined
  let healthy = false
  let pid: number | undefined
  let closed = false

  const attach = async (): Promise<void> => {
    const fresh = await connect()
    fresh.on('notification', (message) => onMessage(message.payload ?? ''))
    const onLost = () => {
      if (client !== fresh) return
      client = undefined
      healthy = false
      pid = undefined
      onGap()
      if (!closed) void retry()
    }
    fresh.on('error', onLost)
    fresh.on('end', onLost)
    let ownPid: number | undefined
    // A server that accepts connections and never replies would otherwise be the last one that is tried.
    const unanswered = setTimeout(() => void fresh.end().catch(() => undefined), replyTimeoutMs)
    try {
      await fresh.query(`listen ${channel}`)
      if (presence !== undefined) ownPid = await showPresence(fresh, presence)
    } catch (error) {
      await fresh.end().catch(() => undefined)
      throw error
    } finally {
      clearTimeout(unanswered)
    }
    // The listener was closed while this connection was being made, so nothing else ends it.
    if (closed) return fresh.end()
    client = fresh
    healthy = true
    pid = ownPid
    onGap()
  }

  const retry = async (): Promise<void> => {
    for (let delay = 100; !closed; delay = Math.min(delay * 2, 5_000)) {
      try {
        await attach()
        if (!closed) log.info({ channel }, 'database listener reconnected')
        return
      } catch {
        await sleep(delay, undefined, { ref: false })
      }
    }
  }

  await attach()
  return {
    /** False while the connection is down. Cached copies must not be used then. */
    healthy: (): boolean => healthy,
    /** The number by which `findListeners` names this connection. Undefined while it is down or without `presence`. */
    pid: (): number | undefined => pid,
    close: async (): Promise<void> => {
      closed = true
      await client?.end()
    },
  }
}

export type Listener = Awaited<ReturnType<typeof listen>>
