import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Log } from '../ground/log.ts'

export interface Listener {
  /** False while the connection is down: whoever keeps copies must not trust them then. */
  healthy(): boolean
  close(): Promise<void>
}

type Needs = {
  connect: () => Promise<pg.Client>
  log: Log
  channel: string
  onMessage: (payload: string) => void
  /** Called when the connection is (again) up: messages may have been missed meanwhile. */
  onGap: () => void
}

/** One connection that hears NOTIFY on a channel, and comes back by itself. */
export const listen = async ({ connect, log, channel, onMessage, onGap }: Needs): Promise<Listener> => {
  let client: pg.Client | undefined
  let healthy = false
  let closed = false

  const attach = async (): Promise<void> => {
    const fresh = await connect()
    fresh.on('notification', (message) => onMessage(message.payload ?? ''))
    const lost = () => {
      if (client !== fresh) return
      client = undefined
      healthy = false
      onGap()
      if (!closed) void retry()
    }
    fresh.on('error', lost)
    fresh.on('end', lost)
    try {
      await fresh.query(`listen ${channel}`)
    } catch (error) {
      await fresh.end().catch(() => undefined)
      throw error
    }
    // Closed while this connection was being made: nobody else would end it.
    if (closed) return fresh.end()
    client = fresh
    healthy = true
    onGap()
  }

  const retry = async (): Promise<void> => {
    for (let delay = 100; !closed; delay = Math.min(delay * 2, 5_000)) {
      try {
        await attach()
        if (!closed) log.info({ channel }, 'listening to the database again')
        return
      } catch {
        await sleep(delay, undefined, { ref: false })
      }
    }
  }

  await attach()
  return {
    healthy: () => healthy,
    close: async () => {
      closed = true
      await client?.end()
    },
  }
}
