/** The aws provider at the wire, against a loopback server that speaks its JSON protocol. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { faultOf } from '../../../test/providers/email.ts'
import { testSms } from '../../../test/providers/sms.ts'
import { makeAwsSmsProvider } from './aws-sms.ts'

type Received = { target: string; authorization: string; body: Record<string, unknown> }
type Responder = (response: ServerResponse, request: IncomingMessage) => void

const accept: Responder = (response) => {
  response.setHeader('content-type', 'application/x-amz-json-1.0').end('{"MessageId":"aws-1"}')
}

const failWith =
  (status: number, type: string, more: Record<string, unknown> = {}): Responder =>
  (response) => {
    const body = { __type: `com.amazonaws.pinpointsmsvoicev2#${type}`, Message: 'because', message: 'because', ...more }
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body))
  }

const serve = async (respond: Responder = accept) => {
  const requests: Received[] = []
  const server = createServer(async (request, response) => {
    try {
      const body = (await json(request)) as Record<string, unknown>
      const { authorization = '', 'x-amz-target': target } = request.headers
      requests.push({ target: String(target), authorization, body })
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

const providerAt = (endpoint: string, changes: Partial<Parameters<typeof makeAwsSmsProvider>[0]> = {}) => {
  const provider = makeAwsSmsProvider({
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

describe('a text message', () => {
  test('S-186 is transactional and comes from its number, with the context that links its events to it', async () => {
    const aws = await serve()
    const sms = testSms()
    const handed = await providerAt(aws.url, { configurationSet: 'events' }).send(sms)
    expect(handed).toEqual({ provider: 'aws', providerMessageId: 'aws-1' })
    expect(aws.requests).toEqual([
      {
        target: 'PinpointSMSVoiceV2.SendTextMessage',
        authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/sms-voice\//),
        body: {
          DestinationPhoneNumber: '+12025550123',
          OriginationIdentity: '+12025550100',
          MessageBody: 'Your code is 123456',
          MessageType: 'TRANSACTIONAL',
          ConfigurationSetName: 'events',
          Context: { 'tidings-org': sms.orgId, 'tidings-message': sms.messageId },
        },
      },
    ])
  })

  test('S-186 S-187 comes from a sender id, and has the type of its campaign', async () => {
    const aws = await serve()
    const provider = providerAt(aws.url)
    await provider.send(testSms({ from: 'ACME', messageType: 'promotional' }))
    expect(aws.requests[0]?.body).toMatchObject({ OriginationIdentity: 'ACME', MessageType: 'PROMOTIONAL' })
    expect(aws.requests[0]?.body).not.toHaveProperty('ConfigurationSetName')
  })

  test('S-227 has the entity and the template id of DLT together or not at all', async () => {
    const aws = await serve()
    const provider = providerAt(aws.url)
    for (const dlt of [
      { entityId: '1101', templateId: '1107' },
      { entityId: '', templateId: '1107' },
      { entityId: '1101', templateId: '' },
      null,
    ]) {
      await provider.send(testSms({ dlt }))
    }
    expect(aws.requests.map(({ body }) => body.DestinationCountryParameters)).toEqual([
      { IN_ENTITY_ID: '1101', IN_TEMPLATE_ID: '1107' },
      undefined,
      undefined,
      undefined,
    ])
  })
})

test('S-236 A media message carries its files and no message type', async () => {
  const aws = await serve()
  const provider = providerAt(aws.url)
  const sms = testSms({ mediaUrl: ['s3://files/a.png'], messageType: 'promotional' })
  await provider.send(sms)
  await provider.send(testSms({ mediaUrl: ['s3://files/a.png'], body: '' }))
  expect(aws.requests.map(({ target, body }) => [target, 'MessageType' in body, 'MessageBody' in body])).toEqual([
    ['PinpointSMSVoiceV2.SendMediaMessage', false, true],
    ['PinpointSMSVoiceV2.SendMediaMessage', false, false],
  ])
  expect(aws.requests[0]?.body).toEqual({
    DestinationPhoneNumber: '+12025550123',
    OriginationIdentity: '+12025550100',
    MessageBody: 'Your code is 123456',
    MediaUrls: ['s3://files/a.png'],
    Context: { 'tidings-org': sms.orgId, 'tidings-message': sms.messageId },
  })
})

describe('when AWS does not accept a message', () => {
  const cases: [status: number, type: string, kind: string, more?: Record<string, unknown>][] = [
    [400, 'ThrottlingException', 'throttled'],
    [429, 'SomethingNew', 'throttled'],
    [400, 'ValidationException', 'refused', { Reason: 'INVALID_PARAMETER' }],
    [400, 'ConflictException', 'refused', { Reason: 'DESTINATION_PHONE_NUMBER_OPTED_OUT' }],
    [400, 'ResourceNotFoundException', 'refused', { ResourceType: 'phone-number' }],
    [400, 'ResourceNotFoundException', 'unavailable', { ResourceType: 'configuration-set' }],
    [400, 'SomethingNew', 'refused'],
    [400, 'ServiceQuotaExceededException', 'unavailable', { Reason: 'MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT' }],
    [400, 'AccessDeniedException', 'unavailable', { Reason: 'ACCOUNT_DISABLED' }],
    [400, 'UnrecognizedClientException', 'unavailable'],
    [403, 'SomethingNew', 'unavailable'],
    [500, 'InternalServerException', 'unavailable'],
    [200, 'SomethingNew', 'uncertain'],
  ]

  test.each(cases)('%s %s is requested once and means %s', async (status, type, kind, more) => {
    const aws = await serve(failWith(status, type, more))
    const fault = await faultOf(providerAt(aws.url).send(testSms()))
    expect([fault.kind, fault.provider, aws.requests.length]).toEqual([kind, 'aws', 1])
    if (kind === 'refused' || kind === 'throttled') expect(fault.message).toBe('because')
    else expect(fault.message).not.toContain('because')
  })

  test('an unreachable endpoint is unavailable, and a request without a response is uncertain', async () => {
    const unreachable = await faultOf(providerAt('http://127.0.0.1:1').send(testSms()))
    expect([unreachable.kind, unreachable.message]).toEqual([
      'unavailable',
      'AWS End User Messaging could not be reached or did not accept the request.',
    ])
    const closing = await serve((response) => response.destroy())
    expect((await faultOf(providerAt(closing.url).send(testSms()))).kind).toBe('uncertain')
    const silent = await serve(() => undefined)
    const timeouts = { connectMs: 5_000, responseMs: 300 }
    const fault = await faultOf(providerAt(silent.url, { timeouts }).send(testSms()))
    expect([fault.kind, fault.message, silent.requests.length]).toEqual([
      'uncertain',
      'AWS End User Messaging did not confirm the message. It may have been sent.',
      1,
    ])
  })

  test('credentials that cannot be loaded make it unavailable, and nothing is sent', async () => {
    const aws = await serve()
    const credentials = () => Promise.reject(new Error('no keys here'))
    const fault = await faultOf(providerAt(aws.url, { credentials }).send(testSms()))
    expect([fault.kind, aws.requests]).toEqual(['unavailable', []])
    expect(fault.message).not.toContain('keys')
  })
})
