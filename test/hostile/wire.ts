/** A client that sends any bytes at all and says what came back, for what a well-behaved one refuses to send. */
import { connect, type Socket } from 'node:net'

export type Answer = {
  status: number
  /** Lower-case names; a repeated header is joined with a comma. */
  headers: Record<string, string>
  body: Buffer
}

export type Heard = {
  /** Final answers, in order; interim ones (1xx) are left out. */
  answers: Answer[]
  /** How the connection stood when listening ended. `silent` means that it was still open and nothing came. */
  end: 'answered' | 'closed' | 'reset' | 'silent'
  /** Bytes that are no whole answer. */
  rest: Buffer
}

export type Field = readonly [name: string, value: string]

export type Shot = {
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

/** The shot as bytes, with a Host unless it brings its own. */
export const write = ({ method, target, headers, body, framing = 'length' }: Shot): Buffer => {
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
  if (!status) throw new Error(`not an HTTP answer: ${JSON.stringify(first)}`)
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name, value = ''] = line.match(/^([^:\s]+): ?(.*)$/) ?? []
    if (name === undefined) throw new Error(`not a header: ${JSON.stringify(line)}`)
    const key = name.toLowerCase()
    headers[key] = headers[key] === undefined ? value : `${headers[key]}, ${value}`
  }
  return { answer: { status: Number(status), headers }, length: end + 4 }
}

/** The whole body and where it ends, or undefined while bytes are missing. */
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

/** Takes one answer off the front. */
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
  if (!Number.isInteger(size)) throw new Error('an answer of no known length')
  if (after.length < size) return undefined
  return { answer: { ...answer, body: after.subarray(0, size) }, length: length + size }
}

export type Listen = {
  /** How many answers to wait for; default 1. */
  answers?: number
  /** Wait for the end of the connection, whatever is answered before. */
  untilClosed?: boolean
  toHead?: boolean
  /** After so long without the end waited for, it is `silent`. */
  patienceMs?: number
}

export type Line = {
  socket: Socket
  send(bytes: Buffer | string): void
  heard(listen?: Listen): Promise<Heard>
  /** Ends it as if the cable was pulled. */
  reset(): void
  close(): void
}

/** An open connection. Write errors are part of the game: a server that closed early has said its word. */
export const open = async (url: string): Promise<Line> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let held: Buffer[] = []
  let end: 'closed' | 'reset' | undefined
  let wake: () => void = () => undefined
  socket.on('data', (bytes) => {
    held.push(bytes)
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
    // EPIPE tells of our own write only; what was said before it is still to be read.
    if (error.code !== 'EPIPE') end ??= 'reset'
    wake()
  })

  const heard = async (listen: Listen = {}): Promise<Heard> => {
    const { answers: wanted = 1, untilClosed = false, toHead = false, patienceMs = 20_000 } = listen
    const answers: Answer[] = []
    let late = false
    const timer = setTimeout(() => {
      late = true
      wake()
    }, patienceMs)
    try {
      for (;;) {
        let rest = Buffer.concat(held)
        for (let read = readAnswer(rest, toHead); read; read = readAnswer(rest, toHead)) {
          if (read.answer.status >= 200) answers.push(read.answer)
          rest = rest.subarray(read.length)
        }
        held = [rest]
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
    heard,
    reset: () => socket.resetAndDestroy(),
    close: () => socket.destroy(),
  }
}

/** Sends bytes over a connection of their own and listens. */
export const tell = async (url: string, bytes: Buffer | string, listen?: Listen): Promise<Heard> => {
  const line = await open(url)
  try {
    line.send(bytes)
    return await line.heard(listen)
  } finally {
    line.close()
  }
}
