/** A raw TCP client that sends arbitrary bytes and parses the responses, for requests that HTTP clients refuse to send. */
import { connect, type Socket } from 'node:net'

export type Answer = {
  status: number
  /** Names in lower case. Repeated headers are joined with a comma. */
  headers: Record<string, string>
  body: Buffer
}

export type Exchange = {
  /** Final responses in order, without interim ones (1xx). */
  answers: Answer[]
  /** The state of the connection at the end. `silent` means that it was still open and nothing more arrived. */
  end: 'answered' | 'closed' | 'reset' | 'silent'
  /** Bytes that are not a complete response. */
  rest: Buffer
}

export type Field = readonly [name: string, value: string]

export type RawRequest = {
  method: string
  target: string
  /** One character per byte. */
  headers: readonly Field[]
  body: Buffer | undefined
  framing?: 'length' | 'chunked'
}

const bytesOf = (latin1: string): Buffer => Buffer.from(latin1, 'latin1')

const chunked = (body: Buffer): Buffer => {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; at += 65_536) {
    const piece = body.subarray(at, at + 65_536)
    parts.push(bytesOf(`${piece.length.toString(16)}\r\n`), piece, bytesOf('\r\n'))
  }
  return Buffer.concat([...parts, bytesOf('0\r\n\r\n')])
}

/** Serialises the request, with a Host header unless it already has one. */
export const write = ({ method, target, headers, body, framing = 'length' }: RawRequest): Buffer => {
  const has = (wanted: string) => headers.some(([name]) => name.toLowerCase() === wanted)
  const fields: Field[] = [...headers]
  if (!has('host')) fields.unshift(['Host', 'localhost'])
  if (body && framing === 'length') fields.push(['Content-Length', String(body.length)])
  if (body && framing === 'chunked') fields.push(['Transfer-Encoding', 'chunked'])
  const head = `${method} ${target} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  const content = body && framing === 'chunked' ? chunked(body) : body
  return Buffer.concat([bytesOf(head), content ?? Buffer.alloc(0)])
}

const readHead = (bytes: Buffer): { answer: Omit<Answer, 'body'>; length: number } | undefined => {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const status = first.match(/^HTTP\/1\.1 (\d{3}) ?/)?.[1]
  if (!status) throw new Error(`not an HTTP response: ${JSON.stringify(first)}`)
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name, value = ''] = line.match(/^([^:\s]+): ?(.*)$/) ?? []
    if (name === undefined) throw new Error(`not a header: ${JSON.stringify(line)}`)
    const key = name.toLowerCase()
    headers[key] = headers[key] === undefined ? value : `${headers[key]}, ${value}`
  }
  return { answer: { status: Number(status), headers }, length: end + 4 }
}

/** Returns the complete body and its length, or undefined while bytes are missing. */
const readChunked = (bytes: Buffer): { body: Buffer; length: number } | undefined => {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line === -1) return undefined
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16)
    const end = line + 2 + size + 2
    if (bytes.length < end) return undefined
    if (size === 0) return { body: Buffer.concat(parts), length: end }
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = end
  }
}

/** Reads the first response. */
const readAnswer = (bytes: Buffer, toHead: boolean): { answer: Answer; length: number } | undefined => {
  const head = readHead(bytes)
  if (!head) return undefined
  const { answer, length } = head
  const bodiless = toHead || answer.status < 200 || answer.status === 204 || answer.status === 304
  if (bodiless) return { answer: { ...answer, body: Buffer.alloc(0) }, length }
  const after = bytes.subarray(length)
  if (answer.headers['transfer-encoding'] !== undefined) {
    const read = readChunked(after)
    return read && { answer: { ...answer, body: read.body }, length: length + read.length }
  }
  const size = Number(answer.headers['content-length'])
  if (!Number.isInteger(size)) throw new Error('a response of unknown length')
  if (after.length < size) return undefined
  return { answer: { ...answer, body: after.subarray(0, size) }, length: length + size }
}

export type ReceiveOptions = {
  /** How many responses to wait for; default 1. */
  answers?: number
  /** Waits for the end of the connection, regardless of the responses. */
  untilClosed?: boolean
  toHead?: boolean
  /** Stops waiting after this time; `end` is then `silent`. */
  waitMs?: number
}

export type Connection = {
  socket: Socket
  send(bytes: Buffer | string): void
  receive(options?: ReceiveOptions): Promise<Exchange>
  /** Resets the connection. */
  reset(): void
  close(): void
}

/** Opens a connection. Write errors are ignored, because the server may close the connection early. */
export const open = async (url: string): Promise<Connection> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let buffered: Buffer[] = []
  let end: 'closed' | 'reset' | undefined
  let wake: () => void = () => undefined
  socket.on('data', (bytes) => {
    buffered.push(bytes)
    wake()
  })
  socket.on('end', () => {
    end ??= 'closed'
    wake()
  })
  socket.on('close', () => {
    end ??= 'closed'
    wake()
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  socket.removeAllListeners('error')
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // EPIPE concerns only our own write. Earlier bytes from the server can still be read.
    if (error.code !== 'EPIPE') end ??= 'reset'
    wake()
  })

  const receive = async (options: ReceiveOptions = {}): Promise<Exchange> => {
    const { answers: wanted = 1, untilClosed = false, toHead = false, waitMs = 20_000 } = options
    const answers: Answer[] = []
    let late = false
    const timer = setTimeout(() => {
      late = true
      wake()
    }, waitMs)
    try {
      for (;;) {
        let rest = Buffer.concat(buffered)
        for (let read = readAnswer(rest, toHead); read; read = readAnswer(rest, toHead)) {
          if (read.answer.status >= 200) answers.push(read.answer)
          rest = rest.subarray(read.length)
        }
        buffered = [rest]
        if (!untilClosed && answers.length >= wanted) return { answers, end: 'answered', rest }
        if (end) return { answers, end, rest }
        if (late) return { answers, end: 'silent', rest }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    socket,
    send: (bytes) => {
      socket.write(typeof bytes === 'string' ? bytesOf(bytes) : bytes)
    },
    receive,
    reset: () => socket.resetAndDestroy(),
    close: () => socket.destroy(),
  }
}

/** Longer than a test waits between two requests, and shorter than the service keeps an idle connection. */
const idleMs = 10_000

/**
 * Like `exchange` for one response, but over connections that it keeps. Opening one takes longer than a request that is
 * refused.
 */
export const keepConnections = (url: string) => {
  const idle: { connection: Connection; since: number }[] = []

  const take = async (): Promise<Connection> => {
    const last = idle.pop()
    if (!last) return open(url)
    const { connection, since } = last
    const { destroyed, readableEnded } = connection.socket
    if (!destroyed && !readableEnded && performance.now() - since < idleMs) return connection
    connection.close()
    return take()
  }

  return {
    exchange: async (bytes: Buffer): Promise<Exchange> => {
      const connection = await take()
      connection.send(bytes)
      const received = await connection.receive()
      const closes = received.answers[0]?.headers.connection === 'close'
      if (received.end === 'answered' && !closes && received.rest.length === 0) {
        idle.push({ connection, since: performance.now() })
      } else connection.close()
      return received
    },
    close: (): void => {
      for (const { connection } of idle.splice(0)) connection.close()
    },
  }
}

/** Sends bytes over a new connection and receives the responses. */
export const exchange = async (url: string, bytes: Buffer | string, options?: ReceiveOptions): Promise<Exchange> => {
  const connection = await open(url)
  try {
    connection.send(bytes)
    return await connection.receive(options)
  } finally {
    connection.close()
  }
}
