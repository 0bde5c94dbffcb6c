/** A TCP proxy that can stop forwarding on its connections, like a server whose machine is gone. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type FreezingProxy = {
  /** The given URL, with the address of the proxy. */
  url: string
  /** Nothing passes on the present connections any more, and none of them is closed. */
  freeze(): void
  close(): Promise<void>
}

export const startFreezingProxy = async (target: string): Promise<FreezingProxy> => {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    keep(client)
    const upstream = connect(Number(port), hostname)
    keep(upstream)
    client.pipe(upstream).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = new URL(target)
  own.hostname = '127.0.0.1'
  own.port = String((server.address() as AddressInfo).port)
  return {
    url: own.href,
    freeze: () => {
      for (const socket of sockets) socket.unpipe()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}
