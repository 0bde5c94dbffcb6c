/** What the connections to Redis have in common: a command is answered soon, or not at all. */

/** At most this many commands wait for a reply. */
const maxWaiting = 10_000

/** `timeoutMs` is how long a caller waits for a reply. */
export const redisOptions = (url: string, timeoutMs: number) => {
  // A connection without traffic for this long is closed. Pings keep a healthy connection open.
  const deadAfterMs = 20 * timeoutMs
  return {
    url,
    // A command that cannot be sent now is of no use later.
    disableOfflineQueue: true,
    commandsQueueMaxLength: maxWaiting,
    // The client's own timeout ends once a command is written, so it does not detect a server that stops replying.
    commandOptions: { timeout: undefined },
    maintNotifications: 'disabled' as const,
    pingInterval: 8 * timeoutMs,
    socket: {
      connectTimeout: deadAfterMs,
      socketTimeout: deadAfterMs,
      reconnectStrategy: (retries: number) => Math.min(50 * 2 ** retries, 1_000) + Math.random() * 100,
    },
  }
}

/** The error of the library contains the URL, which may contain a password. */
export const withoutUrl = <T>(create: () => T): T => {
  try {
    return create()
  } catch {
    throw new Error('the Redis URL must be a valid redis:// or rediss:// URL')
  }
}

const replaceEveryMs = 1_000

type Connection = { destroy(): void; connect(): Promise<unknown> }

/**
 * Returns a function for failed commands. After a failover, a connection to the former master leads to a replica. A new
 * one leads to the present master.
 */
export const makeReplaceIfReplica = (connection: Connection, isClosed: () => boolean): ((cause: unknown) => void) => {
  let replacedAt = Number.NEGATIVE_INFINITY
  return (cause) => {
    const isReplica = cause instanceof Error && cause.message.includes('READONLY')
    if (!isReplica || isClosed() || performance.now() - replacedAt < replaceEveryMs) return
    replacedAt = performance.now()
    connection.destroy()
    // The client reports why it cannot connect as an event, and keeps trying.
    connection.connect().catch(() => undefined)
  }
}
