/** Files fetched from an address: once, over https, within what may be attached. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { startReceiver, testCertificate } from '../../../test/receiver.ts'
import { Failure } from '../../ground/errors.ts'
import { makeGuardedAgent } from '../../outgoing/guarded.ts'
import { attachedBytes, makeFetchAttachments, maxAttachmentBytes } from './attachments.ts'

type Answer = NonNullable<Parameters<typeof startReceiver>[0]>

/** A public host, as far as the agent can tell, that is really a server on loopback. */
const withHost = async (answer: Answer) => {
  const receiver = await startReceiver(answer, { secure: true })
  const agent = makeGuardedAgent({
    ...{
      allowInsecure: false,
      ca: testCertificate.cert,
      resolver: async () => ({ addresses: ['8.8.8.8'], ttl: 60 }),
    },
    dial: () => ({ host: '127.0.0.1', port: receiver.port }),
  })
  onTestFinished(async () => {
    await agent.close()
    await receiver.stop()
  })
  return { receiver, fetch: makeFetchAttachments(agent) }
}
const linked = (path: string) => ({
  ...{ filename: 'a.bin', contentType: 'application/octet-stream' },
  url: `https://hooks.example.test/${path}`,
})
const inline = (bytes: number) => ({
  ...{ filename: 'b.bin', contentType: 'text/plain', content: Buffer.alloc(bytes) },
})
const refusalOf = (work: Promise<unknown>): Promise<Failure> =>
  work.then(
    () => expect.unreachable('it was taken'),
    (error) => {
      expect(error).toBeInstanceOf(Failure)
      return error
    },
  )

describe('a file by url', () => {
  test('S-121 SD-40 is asked for once and stands where it was named, beside what came inline', async () => {
    const { receiver, fetch } = await withHost(({ path }, response) => response.end(`file ${path}`))
    const files = await fetch([linked('one'), inline(3), linked('two')])
    expect(files.map(({ filename, content }) => [filename, content.toString()])).toEqual([
      ['a.bin', 'file /one'],
      ['b.bin', '\0\0\0'],
      ['a.bin', 'file /two'],
    ])
    expect(receiver.got.map(({ path }) => path)).toEqual(['/one', '/two'])
  })

  test('SD-40 that is not there, elsewhere or cut short refuses the call and names its place', async () => {
    const { fetch } = await withHost(({ path }, response) => {
      if (path === '/gone') response.writeHead(404).end()
      else if (path === '/moved')
        response.writeHead(302, { location: 'https://hooks.example.test/one' }).end()
      else if (path === '/cut')
        response.writeHead(200, { 'content-length': '10' }).write('x', () => response.destroy())
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

  test('XD-34 counts toward the 7 MB together with what came inline', async () => {
    const { fetch } = await withHost(({ path }, response) =>
      response.end(Buffer.alloc(Number(path.slice(1)))),
    )
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

test('XD-34 what a body attaches is counted in decoded bytes, whatever the body is', () => {
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
