/** Fetching attachments by URL: once, over https, and within the size limit. */
import type { ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startReceiver, testCertificate } from '../../../../test/servers/receiver.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { makeGuardedAgent } from '../../../platform/outgoing/guarded.ts'
import { attachedBytes, makeFetchAttachments, maxAttachmentBytes } from './attachments.ts'

type Answer = NonNullable<Parameters<typeof startReceiver>[0]>

/** The agent resolves a public address but connects to a server on loopback. */
const withHost = async (answer: Answer, options?: { timeoutMs: number }) => {
  const receiver = await startReceiver(answer, { secure: true })
  const agent = makeGuardedAgent({
    allowInsecure: false,
    ca: testCertificate.cert,
    resolver: async () => ({ addresses: ['8.8.8.8'], ttl: 60 }),
    dial: () => ({ host: '127.0.0.1', port: receiver.port }),
  })
  onTestFinished(async () => {
    await agent.close()
    await receiver.stop()
  })
  return { receiver, fetch: makeFetchAttachments(agent, options) }
}
const linked = (path: string) => ({
  filename: 'a.bin',
  contentType: 'application/octet-stream',
  url: `https://hooks.example.test/${path}`,
})
const inline = (bytes: number) => ({
  filename: 'b.bin',
  contentType: 'text/plain',
  content: Buffer.alloc(bytes),
})
const refusalOf = (work: Promise<unknown>): Promise<Failure> =>
  work.then(
    () => expect.unreachable('it was accepted'),
    (error) => {
      expect(error).toBeInstanceOf(Failure)
      return error
    },
  )

describe('an attachment URL', () => {
  test('S-121 SD-40 is fetched once, and the file keeps its position among inline attachments', async () => {
    const { receiver, fetch } = await withHost(({ path }, response) => response.end(`file ${path}`))
    const files = await fetch([linked('one'), inline(3), linked('two')])
    expect(files.map(({ filename, content }) => [filename, content.toString()])).toEqual([
      ['a.bin', 'file /one'],
      ['b.bin', '\0\0\0'],
      ['a.bin', 'file /two'],
    ])
    expect(receiver.got.map(({ path }) => path).sort()).toEqual(['/one', '/two'])
  })

  test('SD-40 that is missing, redirects or is cut off rejects the call with the path of the attachment', async () => {
    const { fetch } = await withHost(({ path }, response) => {
      if (path === '/gone') response.writeHead(404).end()
      else if (path === '/moved') response.writeHead(302, { location: 'https://hooks.example.test/one' }).end()
      else if (path === '/cut') response.writeHead(200, { 'content-length': '10' }).write('x', () => response.destroy())
      else response.end('x')
    })
    for (const path of ['gone', 'moved', 'cut']) {
      const { code, detail } = await refusalOf(fetch([linked('one'), linked(path)]))
      expect([path, code, detail.errors]).toEqual([
        path,
        'VALIDATION_ERROR',
        [
          {
            path: ['attachments', 1, 'url'],
            code: 'custom',
            message: expect.stringMatching(/^Could not be fetched/),
          },
        ],
      ])
    }
  })

  test('XD-34 counts toward the 7 MB together with inline attachments', async () => {
    const { fetch } = await withHost(({ path }, response) => response.end(Buffer.alloc(Number(path.slice(1)))))
    const files = await fetch([inline(1), linked(String(maxAttachmentBytes - 1))])
    expect(files.reduce((sum, { content }) => sum + content.length, 0)).toBe(maxAttachmentBytes)
    for (const list of [
      [inline(2), linked(String(maxAttachmentBytes - 1))],
      [linked(String(maxAttachmentBytes - 1)), inline(2)],
      [linked(String(3 * maxAttachmentBytes))],
    ]) {
      expect((await refusalOf(fetch(list))).code).toBe('ATTACHMENT_TOO_LARGE')
    }
  })
})

describe('several attachment URLs', () => {
  const ten = Array.from({ length: 10 }, (_, i) => linked(String(i)))

  test('S-114 are fetched five at a time', async () => {
    const open: (() => void)[] = []
    let most = 0
    const { receiver, fetch } = await withHost(({ path }, response) => {
      open.push(() => response.end(path))
      most = Math.max(most, open.length)
    })
    const files = fetch(ten)
    await expect.poll(() => receiver.got.length).toBe(5)
    while (receiver.got.length < 10 || open.length > 0) {
      open.pop()?.()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const contents = (await files).map(({ content }) => content.toString())
    expect(contents).toEqual(ten.map((_, i) => `/${i}`))
    expect(most).toBe(5)
  })

  test('S-114 X-213 share one time limit: slow ones leave less time for the others', async () => {
    const timeoutMs = 2_000
    const { fetch } = await withHost(
      (_, response, nth) => setTimeout(() => response.end(), timeoutMs * (nth <= 5 ? 0.5 : 0.75)),
      { timeoutMs },
    )
    const { detail } = await refusalOf(fetch(ten))
    const message = 'Could not be fetched: timeout.'
    expect(detail.errors).toEqual([{ path: ['attachments', 5, 'url'], code: 'custom', message }])
  })

  test('SD-40 report the first failure in the order of the list, even if another failed earlier, and stop fetching', async () => {
    let second: ServerResponse | undefined
    let ended = 0
    const { receiver, fetch } = await withHost(({ path }, response, nth) => {
      response.on('close', () => ended++)
      if (path === '/0') response.end('x')
      if (path === '/1') second = response
      if (path === '/2') response.writeHead(410).end()
      // Two have ended, so two more have started.
      if (nth === 7) second?.writeHead(404).end()
    })
    const { detail } = await refusalOf(fetch(ten))
    const message = 'Could not be fetched: the response status was 404.'
    expect(detail.errors).toEqual([{ path: ['attachments', 1, 'url'], code: 'custom', message }])
    await expect.poll(() => ended).toBe(7)
    expect(receiver.got).toHaveLength(7)
  })
})

test('XD-34 attachments of an unvalidated body are counted in decoded bytes, and malformed bodies count as 0', () => {
  for (const bytes of [0, 1, 2, 3, 1_000, 1_001]) {
    const content = Buffer.alloc(bytes).toString('base64')
    expect(attachedBytes({ attachments: [{ content }, { content }] })).toBe(2 * bytes)
  }
  for (const raw of [
    null,
    undefined,
    7,
    'x',
    [],
    {},
    { attachments: {} },
    { attachments: [null, 1, { content: 5 }] },
  ]) {
    expect(attachedBytes(raw)).toBe(0)
  }
})
