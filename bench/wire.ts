/** Minimal HTTP on bytes, for a closed loop over keep-alive connections. */

/** A placeholder in a path, header or body for a number that is unique within the run. */
export const counterSlot = '<counter>'

/** Every counter has this width, so that the length and the offsets of a request never change. */
export const counterWidth = 12

export type RequestShape = {
  method: string
  path: string
  headers?: Record<string, string>
  body?: string
}

export type PreparedRequest = { bytes: Buffer; slots: number[] }

export const prepareRequest = (port: number, { method, path, headers = {}, body }: RequestShape) => {
  const widen = (text: string) => text.replaceAll(counterSlot, '0'.repeat(counterWidth))
  const lines = [`${method} ${path} HTTP/1.1`, `host: 127.0.0.1:${port}`]
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (body !== undefined) lines.push(`content-length: ${Buffer.byteLength(widen(body))}`)
  const pieces = `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`.split(counterSlot)
  const slots: number[] = []
  let at = 0
  for (const piece of pieces.slice(0, -1)) {
    at += Buffer.byteLength(piece)
    slots.push(at)
    at += counterWidth
  }
  const prepared: PreparedRequest = { bytes: Buffer.from(pieces.join('0'.repeat(counterWidth))), slots }
  return prepared
}

/** `count` stays below 2^31, because this hot loop computes the digits with 32-bit integer arithmetic. */
export const writeCounter = ({ bytes, slots }: PreparedRequest, count: number): void => {
  for (let slot = 0; slot < slots.length; slot++) {
    const start = slots[slot]!
    let rest = count | 0
    for (let at = start + counterWidth - 1; at >= start; at--) {
      const next = (rest / 10) | 0
      bytes[at] = 48 + (rest - next * 10)
      rest = next
    }
  }
}

const CR = 13
const LF = 10
const COLON = 58
const contentLength = Buffer.from('content-length')
const transferEncoding = Buffer.from('transfer-encoding')

const isHeader = (bytes: Uint8Array, start: number, name: Uint8Array): boolean => {
  if (bytes[start + name.length] !== COLON) return false
  for (let i = 0; i < name.length; i++) {
    // 0x20 folds ASCII letters to lower case; the hyphen already has that bit set.
    if ((bytes[start + i]! | 0x20) !== name[i]) return false
  }
  return true
}

const digitsFrom = (bytes: Uint8Array, start: number): number => {
  let at = start
  while (bytes[at] === 32) at++
  let value = -1
  for (let digit = bytes[at]! - 48; digit >= 0 && digit <= 9; digit = bytes[++at]! - 48) {
    value = (value < 0 ? 0 : value * 10) + digit
  }
  return value
}

const lineFeedIn = (bytes: Uint8Array, start: number, end: number): number => {
  for (let at = start; at < end; at++) if (bytes[at] === LF) return at
  return -1
}

export type ResponseReader = {
  /** Reads the received bytes. Returns the status once a response is complete, and 0 until then. */
  feed(bytes: Uint8Array, length: number): number
}

/**
 * Reads the responses of one connection with at most one request in progress. Anything unsupported (a chunked body, a
 * body of unknown length, bytes past the end) is an error.
 */
export const makeResponseReader = (): ResponseReader => {
  let status = 0
  let bodyLeft = 0
  let partialHead: Buffer | undefined

  const readHead = (bytes: Uint8Array, length: number): number => {
    if (length < 13) return -1
    if (bytes[0] !== 72 || bytes[4] !== 47 || bytes[8] !== 32) {
      throw new Error(`not an HTTP response: ${Buffer.from(bytes.subarray(0, Math.min(length, 60)))}`)
    }
    let announced = -1
    let at = lineFeedIn(bytes, 12, length) + 1
    while (at > 0) {
      if (bytes[at] === CR && at + 1 < length) {
        status = (bytes[9]! - 48) * 100 + (bytes[10]! - 48) * 10 + (bytes[11]! - 48)
        if (announced < 0) {
          if (status !== 204) throw new Error(`response ${status} without a content-length`)
          announced = 0
        }
        bodyLeft = announced
        return at + 2
      }
      const end = lineFeedIn(bytes, at, length)
      if (end < 0) return -1
      const initial = bytes[at]! | 0x20
      if (initial === 99 && isHeader(bytes, at, contentLength)) {
        announced = digitsFrom(bytes, at + contentLength.length + 1)
      } else if (initial === 116 && isHeader(bytes, at, transferEncoding)) {
        throw new Error('chunked response: benchmarked routes must respond with a content-length')
      }
      at = end + 1
    }
    return -1
  }

  const readBody = (available: number): number => {
    bodyLeft -= available
    if (bodyLeft > 0) return 0
    if (bodyLeft < 0) throw new Error(`${-bodyLeft} bytes past the end of a response`)
    const complete = status
    status = 0
    return complete
  }

  return {
    feed(bytes, length) {
      if (status !== 0) return readBody(length)
      const all = partialHead ? Buffer.concat([partialHead, bytes.subarray(0, length)]) : bytes
      const allLength = partialHead ? all.length : length
      const headEnd = readHead(all, allLength)
      if (headEnd < 0) {
        // Copied, because the next read of any connection overwrites the buffer.
        partialHead = Buffer.from(all.subarray(0, allLength))
        return 0
      }
      partialHead = undefined
      return readBody(allLength - headEnd)
    },
  }
}
