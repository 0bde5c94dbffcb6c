/** Size limits of bodies and attachments, at the limit and one byte above it. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import { afterAll, expect, test } from 'vitest'
import { type Body, mail, mailer, post } from '../../../../test/clients/mailer.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await mailer(t)
const leavesNoTrace = await watchTables(t.database)
const megabyte = 1_048_576

/** A JSON body of exactly `bytes` bytes. */
const ofSize = (bytes: number, body: (fill: string) => unknown): string => {
  const padding = bytes - Buffer.byteLength(JSON.stringify(body('')))
  return JSON.stringify(body('x'.repeat(padding)))
}
const request = (path: string, raw: string) => t.ask('POST', path, { key: acme.live, raw })
const file = (bytes: number): Body => ({
  filename: 'a.bin',
  content: Buffer.alloc(bytes, 1).toString('base64'),
})

const exceeds = (limit: string) => ({ message: `The request body exceeds ${limit}. Send a smaller body.` })

test('S-108 X-228 X-333 XD-34 a single send accepts at most 6 MB', {
  timeout: 60_000,
}, async () => {
  const single = (bytes: number) =>
    request(
      post,
      ofSize(bytes, (text) => mail({ text })),
    )
  expect((await single(6 * megabyte)).status).toBe(200)
  for (const bytes of [6 * megabyte + 1, 15 * megabyte, 16 * megabyte + 1]) {
    expectRefusal(await leavesNoTrace(() => single(bytes)), 'PAYLOAD_TOO_LARGE', exceeds('6 MB'), String(bytes))
  }
})

test('X-228 X-333 XD-34 a batch accepts at most 10 MB', { timeout: 60_000 }, async () => {
  const batch = (bytes: number) =>
    request(
      `${post}/batch`,
      ofSize(bytes, (text) => [mail({ text }), mail()]),
    )
  const full = await batch(10 * megabyte)
  expect([full.status, full.body.succeeded]).toEqual([200, 2])
  expectRefusal(await leavesNoTrace(() => batch(10 * megabyte + 1)), 'PAYLOAD_TOO_LARGE', exceeds('10 MB'))
})

test('a text that exceeds the limit with its links filled in is rejected', { timeout: 60_000 }, async () => {
  const text = '{{unsubscribe_url}}'.repeat(200_000)
  const reply = await leavesNoTrace(() => acme.send(mail({ text, stream: 'broadcast' })))
  const message = 'With its links filled in, html or text has more than 20,000,000 characters.'
  expectRefusal(reply, 'PAYLOAD_TOO_LARGE', { message })
})

/** Runs in a worker thread. In the server's thread the client would read as often as it writes and not show the fault. */
const fetchTooLarge = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { headers, targets } = workerData
  const run = async () => {
    const results = []
    for (const [url, text] of targets) {
      for (const body of [text, Buffer.from(text), new Blob([text]).stream()]) {
        results.push(
          await fetch(url, { method: 'POST', headers, body, duplex: 'half' }).then(
            async (response) => [response.status, await response.json()],
            (error) => [String(error.cause ?? error)],
          ),
        )
      }
    }
    parentPort.postMessage(results)
  }
  run()
`

test('S-108 X-333 XD-34 a client that writes its whole body before reading always receives the 413', {
  timeout: 60_000,
}, async () => {
  const headers = { authorization: `Bearer ${acme.live}`, 'content-type': 'application/json' }
  const batch = [`${t.url}${post}/batch`, ofSize(10 * megabyte + 1, (text) => [mail({ text })])]
  const single = [`${t.url}${post}`, ofSize(16 * megabyte + 1, (text) => mail({ text }))]
  const targets = Array.from({ length: 4 }, () => [batch, single]).flat()
  const client = new Worker(fetchTooLarge, { eval: true, workerData: { headers, targets } })
  const [results] = await once(client, 'message')
  await client.terminate()
  const error = (limit: string) => ({
    type: 'validation_error',
    code: 'PAYLOAD_TOO_LARGE',
    request_id: expect.any(String),
    ...exceeds(limit),
  })
  const inTurn = ['10 MB', '6 MB'].flatMap((limit) => new Array(3).fill([413, { error: error(limit) }]))
  expect(results).toEqual(new Array(4).fill(inTurn).flat())
})

test('X-333 a client that never stops writing is disconnected after a bounded number of bytes', {
  timeout: 60_000,
}, async () => {
  const { hostname, port } = new URL(t.url)
  const socket = connect(Number(port), hostname)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined).resume()
  socket.write(
    `POST ${post} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${acme.live}\r\n` +
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
  )
  const chunk = `${megabyte.toString(16)}\r\n${' '.repeat(megabyte)}\r\n`
  const flood = (): void => {
    if (socket.writable) socket.write(chunk, flood)
  }
  flood()
  await closed
  // 16 MB that are read, 64 MB that are discarded, and the content of the socket buffers.
  expect(socket.bytesWritten).toBeGreaterThan(80 * megabyte)
  expect(socket.bytesWritten).toBeLessThan(200 * megabyte)
})

test('X-227 X-334 SD-31 XD-34 attachments together have at most 7 MB, with their own error code', {
  timeout: 60_000,
}, async () => {
  const limit = 7 * megabyte
  const single = (...sizes: number[]) => acme.send(mail({ attachments: sizes.map(file) }))
  // 7 MB of files exceed the 6 MB of a body. The error code depends on the size of the files alone.
  expectRefusal(await leavesNoTrace(() => single(limit)), 'PAYLOAD_TOO_LARGE', exceeds('6 MB'))
  expectRefusal(await leavesNoTrace(() => single(limit + 1)), 'ATTACHMENT_TOO_LARGE')
  expectRefusal(await leavesNoTrace(() => single(4 * megabyte, 3 * megabyte + 1)), 'ATTACHMENT_TOO_LARGE')
  expect((await single(4 * megabyte)).status).toBe(200)
  const items = await acme.batch([mail({ attachments: [file(limit)] })])
  expect(items.body).toMatchObject({ succeeded: 1 })
  const over = await acme.batch([mail({ attachments: [file(limit + 1)] }), mail()])
  expect(over.body.data.map(({ error }: { error: Body | null }) => error?.code)).toEqual([
    'ATTACHMENT_TOO_LARGE',
    undefined,
  ])
  const bulk = await leavesNoTrace(() => acme.batch(mail({ attachments: [file(limit), file(1)] })))
  expectRefusal(bulk, 'ATTACHMENT_TOO_LARGE')
})

test('X-342 scheduled_at may be up to 5 minutes in the past and 366 days ahead', async () => {
  const at = (seconds: number) =>
    acme.send(mail({ scheduled_at: new Date(t.service.clock.millis() + seconds * 1_000).toISOString() }))
  const year = 366 * 86_400
  expect((await at(-290)).body.status).toBe('sent')
  expect((await at(year - 5)).body.status).toBe('scheduled')
  expectRefusal(await leavesNoTrace(() => at(-301)), 'SCHEDULED_AT_IN_PAST')
  expectRefusal(await leavesNoTrace(() => at(year + 30)), 'SCHEDULED_AT_TOO_FAR')
})
