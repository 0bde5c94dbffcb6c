/** Bodies and attachments at their sizes, and one byte beyond. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import { afterAll, expect, test } from 'vitest'
import { type Body, mail, mailer, post } from '../../../test/clients/mailer.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await mailer(t)
const leavesNoTrace = await watchTables(t.database)
const megabyte = 1_048_576

/** A body of exactly so many bytes. */
const ofSize = (bytes: number, body: (fill: string) => unknown): string => {
  const room = bytes - Buffer.byteLength(JSON.stringify(body('')))
  return JSON.stringify(body('x'.repeat(room)))
}
const ask = (path: string, raw: string) => t.ask('POST', path, { key: acme.live, raw })
const file = (bytes: number): Body => ({
  filename: 'a.bin',
  content: Buffer.alloc(bytes, 1).toString('base64'),
})

test('S-108 X-228 X-333 XD-34 a single send takes 6 MB and not a byte more', {
  timeout: 60_000,
}, async () => {
  const single = (bytes: number) =>
    ask(
      post,
      ofSize(bytes, (text) => mail({ text })),
    )
  expect((await single(6 * megabyte)).status).toBe(200)
  for (const bytes of [6 * megabyte + 1, 15 * megabyte, 16 * megabyte + 1]) {
    expectRefusal(await leavesNoTrace(() => single(bytes)), 'PAYLOAD_TOO_LARGE', {}, String(bytes))
  }
})

test('X-228 X-333 XD-34 a batch takes 10 MB and not a byte more', { timeout: 60_000 }, async () => {
  const batch = (bytes: number) =>
    ask(
      `${post}/batch`,
      ofSize(bytes, (text) => [mail({ text }), mail()]),
    )
  const full = await batch(10 * megabyte)
  expect([full.status, full.body.succeeded]).toEqual([200, 2])
  expectRefusal(await leavesNoTrace(() => batch(10 * megabyte + 1)), 'PAYLOAD_TOO_LARGE')
})

test('a text that its links make many times as long is refused', { timeout: 60_000 }, async () => {
  const text = '{{unsubscribe_url}}'.repeat(200_000)
  const reply = await leavesNoTrace(() => acme.send(mail({ text, stream: 'broadcast' })))
  const message = 'With its links filled in, a part has more than 20,000,000 characters.'
  expectRefusal(reply, 'PAYLOAD_TOO_LARGE', { message })
})

/** In a thread of its own: a client that shares its turns with the server happens to read as often as it writes. */
const fetchTooLarge = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { headers, targets } = workerData
  const run = async () => {
    const told = []
    for (const [url, text] of targets) {
      for (const body of [text, Buffer.from(text), new Blob([text]).stream()]) {
        told.push(
          await fetch(url, { method: 'POST', headers, body, duplex: 'half' }).then(
            async (answer) => [answer.status, await answer.json()],
            (error) => [String(error.cause ?? error)],
          ),
        )
      }
    }
    parentPort.postMessage(told)
  }
  run()
`

test('S-108 X-333 XD-34 a client that writes its whole body before it reads is told that it is too large, every time', {
  timeout: 60_000,
}, async () => {
  const headers = { authorization: `Bearer ${acme.live}`, 'content-type': 'application/json' }
  const batch = [`${t.url}${post}/batch`, ofSize(10 * megabyte + 1, (text) => [mail({ text })])]
  const single = [`${t.url}${post}`, ofSize(16 * megabyte + 1, (text) => mail({ text }))]
  const targets = Array.from({ length: 4 }, () => [batch, single]).flat()
  const client = new Worker(fetchTooLarge, { eval: true, workerData: { headers, targets } })
  const [told] = await once(client, 'message')
  await client.terminate()
  const error = {
    type: 'validation_error',
    code: 'PAYLOAD_TOO_LARGE',
    request_id: expect.any(String),
    message: 'The request body exceeds the size limit of this endpoint. Send a smaller body.',
  }
  expect(told).toEqual(new Array(24).fill([413, { error }]))
})

test('X-333 one that never stops writing is cut off, and little of it is read', {
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
  // 16 MB that are read, 64 MB that are thrown away, and what the buffers between the two hold.
  expect(socket.bytesWritten).toBeGreaterThan(80 * megabyte)
  expect(socket.bytesWritten).toBeLessThan(200 * megabyte)
})

test('X-227 X-334 SD-31 XD-34 attachments take 7 MB together where the body has room; the more telling code is given', {
  timeout: 60_000,
}, async () => {
  const limit = 7 * megabyte
  const single = (...sizes: number[]) => acme.send(mail({ attachments: sizes.map(file) }))
  // Seven fit no body of six: which of the two is told depends on the files alone.
  expectRefusal(await leavesNoTrace(() => single(limit)), 'PAYLOAD_TOO_LARGE')
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

test('X-342 scheduling takes up to 5 minutes past and 366 days ahead', async () => {
  const at = (seconds: number) =>
    acme.send(mail({ scheduled_at: new Date(t.service.clock.millis() + seconds * 1_000).toISOString() }))
  const year = 366 * 86_400
  expect((await at(-290)).body.status).toBe('sent')
  expect((await at(year - 5)).body.status).toBe('scheduled')
  expectRefusal(await leavesNoTrace(() => at(-301)), 'SCHEDULED_AT_IN_PAST')
  expectRefusal(await leavesNoTrace(() => at(year + 30)), 'SCHEDULED_AT_TOO_FAR')
})
