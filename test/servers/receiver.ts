/** A webhook receiver on loopback that stores requests and responds as the test decides. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createRawServer, type Socket } from 'node:net'

export type Received = {
  path: string
  headers: Record<string, string | string[] | undefined>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests assert whole bodies by value
  body: any
}

export type Receiver = {
  url: string
  port: number
  got: Received[]
  /** The number of connections so far. */
  connections(): number
  stop(): Promise<void>
}

type Answer = (request: Received, response: ServerResponse, nth: number) => void

export const testCertificate = {
  cert: readFileSync(new URL('./tls/cert.pem', import.meta.url), 'utf8'),
  key: readFileSync(new URL('./tls/key.pem', import.meta.url), 'utf8'),
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const startReceiver = async (
  answer: Answer = (_, response) => response.end(),
  { secure = false } = {},
): Promise<Receiver> => {
  const got: Received[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const onRequest = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString('utf8')
    const received = { path: request.url ?? '', headers: request.headers, text, body: parsed(text) }
    got.push(received)
    answer(received, response, got.length)
  }
  const server = secure ? createSecureServer(testCertificate, onRequest) : createServer(onRequest)
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${secure ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    port,
    got,
    connections: () => connections,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A raw TCP server, for responses that are invalid HTTP or no HTTP at all. */
export const startRaw = async (serve: (socket: Socket) => void): Promise<Receiver> => {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createRawServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    got: [],
    connections: () => connections,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
