import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Log } from '../ground/log.ts'

export interface Listener {
  /** False while the connection is down. Cached copies must not be used then. */
  healthy(): boolean
  close(): Promise<void>
}

type Needs = {
  connect: () => Promise<pg.Client>
  log: Log
  channel: string
  onMessage: (payload: string) => void
  /** Called when the connection is lost and when it is up (again): notifications may have been missed. */
  onGap: () => void
}

/** Listens for NOTIFY on a channel, on one connection that reconnects by itself. */
export const listen = async ({ connect, log, channel, onMessage, onGap }: Needs): Promise<Listener> => {
  let client: pg.Client | undefined
  let healthy = false
  let closed = false

  const attach = async (): Promise<void> => {
    const fresh = await connect()
    fresh.on('notification', (message) => onMessage(message.payload ?? ''))
    const onLost = () => {
      if (client !== fresh) return
      client = undefined
      healthy = false
      onGap()
      if (!closed) void retry()
    }
    fresh.on('error', onLost)
    fresh.on('end', onLost)
    try {
      await fresh.query(`listen ${channel}`)
    } catch (error) {
      await fresh.end().catch(() => undefined)
      throw error
    }
    // The listener was closed while this connection was being made, so nothing else ends it.
    if (closed) return fresh.end()
    client = fresh
    healthy = true
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
    healthy: () => healthy,
    close: async () => {
      closed = true
      await client?.end()
    },
  }
}
