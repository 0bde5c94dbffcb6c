import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startWebhookService, type WebhookClient, webhookClient } from '../../../test/clients/webhook-client.ts'
import { type Receiver, startReceiver } from '../../../test/servers/receiver.ts'
import { isTracing, readTraceparent, spanFieldNames } from '../ground/tracing.ts'

type Exported = {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  kind: number
  status: { code?: number }
  attributes: { key: string; value: Record<string, unknown> }[]
}

/** Collects what the service exports, as a collector on loopback does. */
const startCollector = async () => {
  const bodies: string[] = []
  const keys: (string | undefined)[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      if (request.url === '/otlp/v1/traces') bodies.push(body)
      keys.push(request.headers['x-key'] as string | undefined)
      response.setHeader('content-type', 'application/json')
      response.end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const spans = (): Exported[] =>
    bodies.flatMap((body) =>
      JSON.parse(body).resourceSpans.flatMap((resource: { scopeSpans: { spans: Exported[] }[] }) =>
        resource.scopeSpans.flatMap((scope) => scope.spans),
      ),
    )
  return { url: `http://127.0.0.1:${port}/otlp/`, bodies, keys, spans, stop: () => server.close() }
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const fieldsOf = ({ attributes }: Exported) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

describe('with a collector', () => {
  let collector: Awaited<ReturnType<typeof startCollector>>
  let receiver: Receiver
  let acme: WebhookClient
  let secret: string
  let spans: Exported[]
  let key: string

  beforeAll(async () => {
    collector = await startCollector()
    receiver = await startReceiver()
    const t = await startWebhookService({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20secret',
        OTEL_SERVICE_NAME: 'mail',
      },
    })
    const org = await t.org()
    acme = webhookClient(t, org)
    key = org.keys.live
    const created = await acme.create({ url: receiver.url, events: ['message.sent'] })
    secret = created.body.secret
    const send = (traceparent: string) =>
      t.ask('POST', '/api/v1/emails', {
        key,
        headers: { traceparent },
        body: {
          from: 'hello@example.test',
          to: ['rita-recipient@example.com'],
          subject: 'A private subject',
          text: 'A private text',
        },
      })
    expect(await send(`00-${traceId}-00f067aa0ba902b7-01`)).toMatchObject({ status: 200 })
    expect((await send('00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00')).status).toBe(200)
    await acme.run()
    await t.ask('GET', '/healthz')
    await t.stop()
    spans = collector.spans()
  })
  afterAll(async () => {
    collector.stop()
    await receiver.stop()
  })

  test('one trace goes from the request of the client to the provider and to the webhook', () => {
    const traced = spans.filter((span) => span.traceId === traceId)
    expect(traced.map(({ name }) => name).sort()).toEqual(['POST /api/v1/emails', 'email handover', 'webhook attempt'])
    const [request] = traced.filter(({ name }) => name.startsWith('POST'))
    expect(request?.parentSpanId).toBe('00f067aa0ba902b7')
    for (const name of ['email handover', 'webhook attempt']) {
      expect(traced.find((span) => span.name === name)?.parentSpanId).toBe(request?.spanId)
    }
    expect(fieldsOf(request as Exported)).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/api/v1/emails',
      'http.response.status_code': 200,
      'tidings.org_id': acme.orgId,
    })
  })

  test('a webhook carries the span of its attempt as traceparent', () => {
    const attempt = spans.find(({ name }) => name === 'webhook attempt')
    expect(receiver.got.map(({ headers }) => headers.traceparent)).toContain(`00-${traceId}-${attempt?.spanId}-01`)
  })

  test('a trace that its client does not record is passed on and not exported', () => {
    const unrecorded = '5bf92f3577b34da6a3ce929d0e0e4736'
    expect(spans.some((span) => span.traceId === unrecorded)).toBe(false)
    const passedOn = receiver.got.map(({ headers }) => readTraceparent(headers.traceparent as string))
    expect(passedOn).toContainEqual({ traceId: unrecorded, spanId: expect.any(String), traceFlags: 0 })
  })

  test('no span contains an address, content, a key or a secret', () => {
    const names = new Set(spans.flatMap(({ attributes }) => attributes.map(({ key: name }) => name)))
    expect([...names].filter((name) => !spanFieldNames.includes(name as (typeof spanFieldNames)[number]))).toEqual([])
    const exported = collector.bodies.join('\n')
    for (const text of ['rita-recipient', 'A private', key, secret, receiver.url, '127.0.0.1']) {
      expect(exported).not.toContain(text)
    }
  })

  test('health checks are not traced', () => {
    expect(spans.filter(({ name }) => name.includes('healthz'))).toEqual([])
  })

  test('the collector gets the configured headers and the name of the service', () => {
    expect(new Set(collector.keys)).toEqual(new Set(['a secret']))
    expect(collector.bodies[0]).toContain('"stringValue":"mail"')
  })

  test('tracing ends with the service', () => {
    expect(isTracing()).toBe(false)
  })
})

test('without an endpoint nothing is traced or stored, and no header is sent', async () => {
  const receiver = await startReceiver()
  const t = await startWebhookService()
  const acme = webhookClient(t, await t.org())
  await acme.create({ url: receiver.url })
  await acme.emit({ data: { message_id: 'msg_1' } })
  await acme.run()
  expect(isTracing()).toBe(false)
  expect(receiver.got).toHaveLength(1)
  expect(receiver.got[0]?.headers).not.toHaveProperty('traceparent')
  const stored = await t.database.sql('select count(*)::int as n from webhook_deliveries where traceparent is not null')
  expect(stored).toEqual([{ n: 0 }])
  await t.stop()
  await receiver.stop()
})

test('the library of traces is imported only at run time, so that it costs nothing while tracing is off', () => {
  const text = readFileSync(new URL('./open-tracer.ts', import.meta.url), 'utf8')
  expect(text.match(/^import (?!type ).*@opentelemetry.*$/gm)).toBeNull()
  expect(text.match(/await Promise\.all|import\('@opentelemetry\/[\w-]+'\)/g)).toHaveLength(5)
  const build = readFileSync(new URL('../../../scripts/build.js', import.meta.url), 'utf8')
  expect(build).toMatch(/externalPackages = \[[^\]]*'@opentelemetry\/\*'/)
})

test.each([
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 1],
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00', 0],
  ['01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03-more', 1],
])('%s is a traceparent', (text, traceFlags) => {
  expect(readTraceparent(text)).toEqual({ traceId, spanId: '00f067aa0ba902b7', traceFlags })
})

test.each([
  'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
  '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
  '00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01',
  '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more',
  `01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-${'x'.repeat(300)}`,
  '',
])('"%s" is not a traceparent', (text) => {
  expect(readTraceparent(text)).toBeUndefined()
})
