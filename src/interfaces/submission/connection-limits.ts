/**
 * Limits the open connections of the SMTP server, per remote address and in total. When the total is reached, a new
 * connection takes the place of one that has not authenticated, so silent connections cannot keep other clients out.
 */
import type { Socket } from 'node:net'
import type { SMTPServer } from 'smtp-server'
import { type CountedNetwork, countedNetworks, parseIp } from '../../platform/ground/ip-address.ts'
import type { Log } from '../../platform/ground/log.ts'

const addressReply = '4.7.0 Too many connections from this address. Close one of them and try again.'
const totalReply = '4.3.2 Too many connections. Try again later.'
/** For a server whose clients authenticate. */
const authenticateReply = '4.3.2 Too many connections. Connect again and authenticate at once.'

type SmtpSession = SMTPServer['connections'] extends Set<infer Session> ? Session : never

type OpenConnection = {
  socket: Socket
  address: string
  /** The names of the networks that it is counted in. */
  networks: string[]
  port: number | undefined
  /** Undefined during the TLS handshake that precedes a session. */
  session?: SmtpSession
  bytesRead: number
  /** The number of the admission before which its client last sent something. */
  activeAt: number
  /** It lost its place and is about to be closed. */
  replaced: boolean
}

type ConnectionLimits = { total: number; perAddress: number }

type Needs = ConnectionLimits & {
  isAuthenticated(connection: OpenConnection): boolean
  /** Closes a connection that loses its place. */
  replace(connection: OpenConnection): void
}

const normalized = (address: string | undefined): string => parseIp(address ?? '')?.toString() ?? address ?? ''

const makeOpenConnections = ({ total, perAddress, isAuthenticated, replace }: Needs) => {
  // In the order of their admission. Includes replaced ones until they are closed, because a session may still start.
  let open: OpenConnection[] = []
  let admissions = 0

  /** The sockets are asked, because the library removes the listeners of a socket that it encrypts. */
  const refresh = (): void => {
    admissions++
    open = open.filter(({ socket }) => !socket.destroyed)
    for (const connection of open) {
      const { bytesRead } = connection.socket
      if (bytesRead === connection.bytesRead) continue
      connection.bytesRead = bytesRead
      connection.activeAt = admissions
    }
  }

  const longestSilent = (connections: OpenConnection[]): OpenConnection | undefined =>
    connections
      .filter((connection) => !isAuthenticated(connection))
      .reduce<OpenConnection | undefined>((a, b) => (a && a.activeAt <= b.activeAt ? a : b), undefined)

  return {
    /** Counts the connection and returns undefined, or returns the reply that refuses it. */
    admit: (socket: Socket): string | undefined => {
      refresh()
      const address = normalized(socket.remoteAddress)
      const counted = open.filter(({ replaced }) => !replaced)
      const networks = countedNetworks(address)
      const isFull = ({ name, times }: CountedNetwork): boolean =>
        counted.filter((connection) => connection.networks.includes(name)).length >= perAddress * times
      if (networks.some(isFull)) return addressReply
      if (counted.length >= total) {
        const silent = longestSilent(counted)
        if (!silent) return totalReply
        silent.replaced = true
        replace(silent)
      }
      open.push({
        socket,
        address,
        networks: networks.map(({ name }) => name),
        port: socket.remotePort,
        bytesRead: 0,
        activeAt: admissions,
        replaced: false,
      })
      return undefined
    },
    startSession: (session: SmtpSession): void => {
      const address = normalized(session.remoteAddress)
      const connection = open.findLast((one) => one.port === session.remotePort && one.address === address)
      if (connection) connection.session = session
    },
  }
}

type Intercepts = { onConnection(socket: Socket, accept: () => void): void; onSession(session: SmtpSession): void }

/** The library has no hook for an accepted socket, only for a session, which starts after the TLS handshake. */
const interceptConnections = (server: SMTPServer, { onConnection, onSession }: Intercepts): void => {
  const [listener] = server.server.listeners('connection')
  if (!listener) throw new Error('the SMTP server has no connection listener')
  server.server.removeAllListeners('connection')
  server.server.on('connection', (socket: Socket) => onConnection(socket, () => listener.call(server.server, socket)))

  const connect = server.connect.bind(server)
  server.connect = (...args) => {
    connect(...args)
    const newest = [...server.connections].at(-1)
    if (newest) onSession(newest)
  }
}

/** Refused and replaced sockets are destroyed once the reply is written, so they do not hold descriptors. */
export const limitConnections = (
  server: SMTPServer,
  limits: ConnectionLimits & { implicitTls: boolean; log: Log; replacedReply?: string },
) => {
  const { implicitTls, log, replacedReply = authenticateReply } = limits

  const close = (connection: OpenConnection): void => {
    const { socket, session } = connection
    const handshake = server._pendingSockets.get(socket)
    if (session) {
      if (server.connections.has(session)) session.send(421, replacedReply)
      session._socket.destroySoon()
    } else if (handshake && handshake !== socket) {
      // Destroying the socket below a TLS handshake crashes Node.
      handshake.destroy()
    } else if (!socket.destroyed) {
      // The library starts the session or the handshake in the next turn.
      setImmediate(() => close(connection))
    }
  }

  const { admit, startSession } = makeOpenConnections({
    ...limits,
    // A session that has ended does not need its place, even if its client has not closed the connection.
    isAuthenticated: ({ session }) =>
      session !== undefined && server.connections.has(session) && !!session.session.user,
    replace: (connection) => {
      log.debug({ address: connection.address }, 'smtp connection replaced')
      close(connection)
    },
  })

  const refuse = (socket: Socket, reply: string): void => {
    log.debug({ address: socket.remoteAddress }, 'smtp connection refused')
    socket.on('error', () => undefined)
    // A client that expects TLS from the first byte cannot read a reply.
    if (!implicitTls) socket.write(`421 ${reply}\r\n`)
    socket.destroySoon()
  }

  interceptConnections(server, {
    onConnection: (socket, accept) => {
      const reply = admit(socket)
      if (reply === undefined) accept()
      else refuse(socket, reply)
    },
    onSession: startSession,
  })
}
