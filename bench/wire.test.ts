import { describe, expect, test } from 'vitest'
import { counterSlot, makeResponseReader, prepareRequest, writeCounter } from './wire.ts'

describe('A request', () => {
  const shape = {
    method: 'POST',
    path: `/rows/${counterSlot}`,
    headers: { 'content-type': 'application/json' },
    body: `{"é":"${counterSlot}"}`,
  }

  test('carries the counter in every slot with a fixed width', () => {
    const prepared = prepareRequest(8080, shape)
    writeCounter(prepared, 1_234_567_890)
    const long = prepared.bytes.toString()
    writeCounter(prepared, 7)
    const short = prepared.bytes.toString()
    expect(long).toContain('POST /rows/001234567890 HTTP/1.1\r\nhost: 127.0.0.1:8080\r\n')
    expect(long).toContain('{"é":"001234567890"}')
    expect(short).toBe(long.replaceAll('001234567890', '000000000007'))
  })

  test('has a content-length in bytes', () => {
    const [head, body] = prepareRequest(80, shape).bytes.toString().split('\r\n\r\n')
    expect(head).toContain(`content-length: ${Buffer.byteLength(body!)}`)
  })

  test('without a body has no content-length', () => {
    const { bytes, slots } = prepareRequest(80, { method: 'GET', path: '/' })
    expect(bytes.toString()).toBe('GET / HTTP/1.1\r\nhost: 127.0.0.1:80\r\n\r\n')
    expect(slots).toEqual([])
  })
})

describe('A response', () => {
  const whole = 'HTTP/1.1 201 Created\r\nX-Trace: t\r\nContent-Length: 11\r\nConnection: keep-alive\r\n\r\n{"a":"bcd"}'
  const feed = (reader: ReturnType<typeof makeResponseReader>, text: string) => {
    const bytes = Buffer.from(text)
    return reader.feed(bytes, bytes.length)
  }

  test('returns its status once it is complete, repeatedly on one connection', () => {
    const reader = makeResponseReader()
    for (let i = 0; i < 3; i++) expect(feed(reader, whole)).toBe(201)
  })

  test('can be split in two at any byte', () => {
    for (let cut = 1; cut < whole.length; cut++) {
      const reader = makeResponseReader()
      expect(feed(reader, whole.slice(0, cut)), `cut at ${cut}`).toBe(0)
      expect(feed(reader, whole.slice(cut)), `cut at ${cut}`).toBe(201)
      expect(feed(reader, whole), `after a cut at ${cut}`).toBe(201)
    }
  })

  test('can arrive byte by byte in a reused buffer that still contains older bytes', () => {
    const reader = makeResponseReader()
    const shared = Buffer.from(`?${whole}`)
    let status = 0
    for (const byte of Buffer.from(whole)) {
      expect(status).toBe(0)
      shared[0] = byte
      status = reader.feed(shared, 1)
    }
    expect(status).toBe(201)
  })

  test('with status 204 needs no content-length', () => {
    expect(feed(makeResponseReader(), 'HTTP/1.1 204 No Content\r\nx: y\r\n\r\n')).toBe(204)
  })

  test.each([
    ['chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', /chunked/],
    ['of unknown length', 'HTTP/1.1 200 OK\r\n\r\nhello', /without a content-length/],
    ['longer than announced', `${whole}x`, /1 bytes past the end/],
    ['that is not HTTP', 'SSH-2.0-something else', /not an HTTP response/],
  ])('%s is an error', (_, text, message) => {
    expect(() => feed(makeResponseReader(), text)).toThrow(message)
  })
})
