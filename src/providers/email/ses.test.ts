import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { json } from 'node:stream/consumers'
import PostalMime from 'postal-mime'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { domainClient } from '../../../test/clients/domain-client.ts'
import { keyClient } from '../../../test/clients/key-client.ts'
import { mail as apiMail, mailer } from '../../../test/clients/mailer.ts'
import { faultOf, testMail, to } from '../../../test/providers/email.ts'
import { testService } from '../../../test/service/service.ts'
import { makeSesProvider } from './ses.ts'

type Sent = {
  Content: { Raw: { Data: string } }
  Destination: Record<string, string[]>
  EmailTags: { Name: string; Value: string }[]
  ConfigurationSetName?: string
  FromEmailAddress?: string
}
type ReceivedRequest = { method: string; url: string; authorization: string; body: Sent }

type Responder = (response: ServerResponse, request: IncomingMessage) => void

const accept: Responder = (response) => {
  response.setHeader('content-type', 'application/json').end('{"MessageId":"0100-ses"}')
}

const failWith =
  (status: number, type: string, message = 'because'): Responder =>
  (response) => {
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': `${type}:http://x/` })
      .end(JSON.stringify({ message }))
  }

/** A fake SES endpoint for the SESv2 JSON API. */
const sesWith = async (respond: Responder = accept) => {
  const requests: ReceivedRequest[] = []
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    try {
      const body = (await json(request)) as Sent
      requests.push({ method, url, authorization: headers.authorization ?? '', body })
      respond(response, request)
    } catch {
      response.destroy()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const providerAt = (endpoint: string, changes: Partial<Parameters<typeof makeSesProvider>[0]> = {}) => {
  const provider = makeSesProvider({
    region: 'eu-west-1',
    configurationSet: undefined,
    endpoint,
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' },
    timeouts: { connectMs: 5_000, responseMs: 10_000 },
    ...changes,
  })
  onTestFinished(() => provider.close())
  return provider
}

describe('a mail through SES', () => {
  test('is sent as composed, to all recipients, with the tags that link its events to the message', async () => {
    const ses = await sesWith()
    const mail = testMail({
      to: to('ann@reader.test', 'jo@bücher.test'),
      cc: to('cc@reader.test'),
      bcc: to('hidden@reader.test'),
      headers: { 'X-SES-CONFIGURATION-SET': 'of-another', 'X-Given': 'a' },
    })
    const handed = await providerAt(ses.url, { configurationSet: 'events' }).send(mail)
    expect(handed).toEqual({ provider: 'ses', providerMessageId: '0100-ses' })
    const [{ method, url, body, authorization }, ...others] = ses.requests as [ReceivedRequest]
    expect([method, url, others]).toEqual(['POST', '/v2/email/outbound-emails', []])
    expect(authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/ses\/aws4_request/)
    const { Content, ...rest } = body
    expect(rest).toEqual({
      Destination: {
        ToAddresses: ['ann@reader.test', 'jo@xn--bcher-kva.test'],
        CcAddresses: ['cc@reader.test'],
        BccAddresses: ['hidden@reader.test'],
      },
      EmailTags: [
        { Name: 'tidings-org', Value: mail.orgId },
        { Name: 'tidings-message', Value: mail.messageId },
      ],
      ConfigurationSetName: 'events',
    })
    const raw = Buffer.from(Content.Raw.Data, 'base64')
    const read = await PostalMime.parse(raw)
    const header = (name: string) => read.headers.find(({ key }) => key === name)?.value
    expect([read.messageId, header('x-service-message-id'), header('x-service-org-id'), header('x-given')]).toEqual([
      `<${mail.messageId}@example.test>`,
      mail.messageId,
      mail.orgId,
      'a',
    ])
    expect(raw.toString()).not.toMatch(/hidden@reader|x-ses-/i)
  })

  test('uses the region of its domain, and falls back to the default when that is not a region', async () => {
    const ses = await sesWith()
    const provider = providerAt(ses.url)
    for (const region of ['ap-south-1', 'us-east-1', '', 'evil.test/#']) await provider.send(testMail({ region }))
    expect(ses.requests.map(({ authorization }) => authorization.split('/')[2])).toEqual([
      'ap-south-1',
      'us-east-1',
      'eu-west-1',
      'eu-west-1',
    ])
  })

  test('uses the configuration set of its IP pool', async () => {
    const ses = await sesWith()
    await providerAt(ses.url).send(testMail())
    await providerAt(ses.url).send(testMail({ ipPool: 'gold' }))
    await providerAt(ses.url, { configurationSet: 'events' }).send(testMail({ ipPool: 'gold' }))
    expect(ses.requests.map(({ body }) => body.ConfigurationSetName)).toEqual([
      undefined,
      'tidings-gold',
      'events-gold',
    ])
  })

  test('XD-21 has a valid and unique configuration set for every pool name', async () => {
    const ses = await sesWith()
    const long = 'n'.repeat(100)
    const pools = ['Gold_2-a', 'my pool / ü!', 'my pool / ö!', '黄金', '💰', long, `${long.slice(0, 99)}m`]
    const sets = async (configurationSet: string | undefined) => {
      ses.requests.length = 0
      for (const ipPool of pools) await providerAt(ses.url, { configurationSet }).send(testMail({ ipPool }))
      return ses.requests.map(({ body }) => body.ConfigurationSetName as string)
    }
    const usual = await sets(undefined)
    expect(usual).toEqual([
      'tidings-Gold_2-a',
      'tidings-my_pool_____-198c03c9',
      expect.stringMatching(/^tidings-my_pool_____-[0-9a-f]{8}$/),
      expect.stringMatching(/^tidings-__-[0-9a-f]{8}$/),
      expect.stringMatching(/^tidings-_-[0-9a-f]{8}$/),
      expect.stringMatching(/^tidings-n{47}-[0-9a-f]{8}$/),
      expect.stringMatching(/^tidings-n{47}-[0-9a-f]{8}$/),
    ])
    // The longest configuration set that can be configured leaves no space for the pool name.
    const longest = await sets('s'.repeat(64))
    for (const named of [usual, longest]) {
      expect(new Set(named).size).toBe(pools.length)
      for (const set of named) expect(set).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    }
  })

  test('XD-21 uses the current pool name of its domain in live mode', async () => {
    const ses = await sesWith()
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
    onTestFinished(() => {
      vi.unstubAllEnvs()
    })
    const t = await testService({
      env: { EMAIL_PROVIDER: 'ses', SES_ENDPOINT: ses.url, SES_CONFIGURATION_SET: 'events' },
    })
    const own = await mailer(t)
    const { domainId } = await keyClient(t, own)
    const domains = domainClient(t, own)
    const pools = '/api/v1/ip-pools'
    const { id } = (await t.ask('POST', pools, { key: own.live, body: { name: 'gold' } })).body
    const sent = async (key = own.live) => expect((await own.send(apiMail(), { key })).status).toBe(200)
    await sent()
    expect((await domains.patch(domainId, { ip_pool_id: id })).body.ip_pool_id).toBe(id)
    await sent()
    await sent(own.test)
    await t.ask('PATCH', `${pools}/${id}`, { key: own.live, body: { name: 'gold rush' } })
    await sent()
    await domains.patch(domainId, { ip_pool_id: null })
    await sent()
    expect(ses.requests.map(({ body }) => body.ConfigurationSetName)).toEqual([
      'events',
      'events-gold',
      expect.stringMatching(/^events-gold_rush-[0-9a-f]{8}$/),
      'events',
    ])
  })

  test('may have an attachment of 7 MB', async () => {
    const ses = await sesWith()
    const content = Buffer.alloc(7_000_000, 5)
    await providerAt(ses.url).send(testMail({ attachments: [{ filename: 'a.bin', contentType: 'a/b', content }] }))
    const read = await PostalMime.parse(Buffer.from(ses.requests[0]?.body.Content.Raw.Data ?? '', 'base64'))
    expect(Buffer.from(read.attachments[0]?.content as ArrayBuffer).equals(content)).toBe(true)
  })

  test('is refused without a request when a local part is not ASCII, which SES does not support', async () => {
    const ses = await sesWith()
    expect((await faultOf(providerAt(ses.url).send(testMail({ to: to('jürgen@reader.test') })))).kind).toBe('refused')
    expect(ses.requests).toEqual([])
  })
})

describe('when SES does not accept a mail', () => {
  const cases: [status: number, type: string, kind: string][] = [
    [429, 'TooManyRequestsException', 'throttled'],
    [400, 'ThrottlingException', 'throttled'],
    [400, 'LimitExceededException', 'throttled'],
    [400, 'MessageRejected', 'refused'],
    [400, 'MailFromDomainNotVerifiedException', 'refused'],
    [400, 'AccountSuspendedException', 'refused'],
    [400, 'SendingPausedException', 'refused'],
    [400, 'BadRequestException', 'refused'],
    [400, 'SomethingNewException', 'refused'],
    [413, 'RequestEntityTooLarge', 'refused'],
    [403, 'UnrecognizedClientException', 'unavailable'],
    [403, 'AccessDeniedException', 'unavailable'],
    [404, 'NotFoundException', 'unavailable'],
    [500, 'InternalServiceErrorException', 'unavailable'],
    [503, 'ServiceUnavailable', 'unavailable'],
  ]

  test.each(cases)('%s %s is requested once and means %s', async (status, type, kind) => {
    const ses = await sesWith(failWith(status, type))
    const fault = await faultOf(providerAt(ses.url).send(testMail()))
    expect([fault.kind, fault.provider, ses.requests.length]).toEqual([kind, 'ses', 1])
    if (kind === 'refused' || kind === 'throttled') expect(fault.message).toBe('because')
    else expect(fault.message).not.toContain('because')
  })

  test('an error text that starts with 454 means throttled', async () => {
    const ses = await sesWith(
      failWith(400, 'MessageRejected', '454 Throttling failure: Maximum sending rate exceeded.'),
    )
    expect((await faultOf(providerAt(ses.url).send(testMail()))).kind).toBe('throttled')
  })

  test('a response that is not JSON is classified by its status', async () => {
    const plain =
      (status: number): Responder =>
      (response) =>
        response.writeHead(status).end('<html>')
    const kinds: string[] = []
    for (const status of [502, 200]) {
      const ses = await sesWith(plain(status))
      kinds.push((await faultOf(providerAt(ses.url).send(testMail()))).kind)
    }
    expect(kinds).toEqual(['unavailable', 'uncertain'])
    const empty = await sesWith((response) => response.end('{}'))
    expect((await faultOf(providerAt(empty.url).send(testMail()))).kind).toBe('uncertain')
  })
})

describe('when the connection is lost', () => {
  test('before the request, the provider is unavailable', async () => {
    const fault = await faultOf(providerAt('http://127.0.0.1:1').send(testMail()))
    expect([fault.kind, fault.message]).toEqual([
      'unavailable',
      'Amazon SES could not be reached or did not accept the request.',
    ])
  })

  test('within a large request, the provider is unavailable', async () => {
    const server = createSocketServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.destroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
    const { port } = server.address() as AddressInfo
    const content = Buffer.alloc(20_000_000)
    const mail = testMail({ attachments: [{ filename: 'a', contentType: 'a/b', content }] })
    expect((await faultOf(providerAt(`http://127.0.0.1:${port}`).send(mail))).kind).toBe('unavailable')
  })

  test('after the request, or without a response, the result is uncertain and the mail is not sent again', async () => {
    const closing = await sesWith((response) => response.destroy())
    expect((await faultOf(providerAt(closing.url).send(testMail()))).kind).toBe('uncertain')
    const cut = await sesWith((response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('{"Mess')
      setImmediate(() => response.destroy())
    })
    expect((await faultOf(providerAt(cut.url).send(testMail()))).kind).toBe('uncertain')
    const silent = await sesWith(() => undefined)
    const timeouts = { connectMs: 5_000, responseMs: 300 }
    const fault = await faultOf(providerAt(silent.url, { timeouts }).send(testMail()))
    expect([fault.kind, fault.message]).toEqual([
      'uncertain',
      'Amazon SES did not confirm the message. It may have been sent.',
    ])
    expect([closing.requests.length, cut.requests.length, silent.requests.length]).toEqual([1, 1, 1])
  })

  test('or credentials cannot be loaded, the provider is unavailable and nothing is sent', async () => {
    const ses = await sesWith()
    const credentials = () => Promise.reject(new Error('no keys here'))
    const fault = await faultOf(providerAt(ses.url, { credentials }).send(testMail()))
    expect([fault.kind, ses.requests]).toEqual(['unavailable', []])
    expect(fault.message).not.toContain('keys')
  })
})
