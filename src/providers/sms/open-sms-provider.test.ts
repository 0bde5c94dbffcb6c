import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { smsClient } from '../../../test/clients/sms-client.ts'
import { faultOf } from '../../../test/providers/email.ts'
import { testSms } from '../../../test/providers/sms.ts'
import { openSmsc } from '../../../test/servers/smsc.ts'
import { makeSns } from '../../../test/servers/sns.ts'
import { testService } from '../../../test/service/service.ts'

test('R-35 the service uses the local provider by default, and the outbox shows its messages', async () => {
  const t = await testService()
  const { smsProvider } = t.service.modules
  expect(smsProvider.name).toBe('local')
  const handed = await smsProvider.send(testSms({ dlt: { entityId: '1101', templateId: '1107' } }))
  const { body } = await t.ask('GET', '/api/dev/outbox?channel=sms')
  expect(body.data).toMatchObject([
    {
      id: handed.providerMessageId,
      channel: 'sms',
      verification_id: null,
      body: 'Your code is 123456',
      dlt: { entity_id: '1101', template_id: '1107' },
    },
  ])
})

test('R-05 R-35 the local provider refuses numbers that no phone has, and simulates outcomes', async () => {
  const { smsProvider } = (await testService()).service.modules
  for (const to of ['12025550123', '+0', '+9991234567', '+15005550009']) {
    expect((await faultOf(smsProvider.send(testSms({ to })))).kind).toBe('refused')
  }
  const outcomes = []
  for (const to of ['+15005550001', '+15005550002', '+15005550003', '+12025550123']) {
    outcomes.push((await smsProvider.send(testSms({ to }))).reports?.map(({ kind }) => kind))
  }
  expect(outcomes).toEqual([['delivered'], ['hard_bounce'], ['failed'], undefined])
})

test('providers are tried in the configured order, without duplicates', async () => {
  const env = { SMS_PROVIDER: 'aws, smpp,local,smpp', SMPP_URL: 'smpp://acme@127.0.0.1:1' }
  const t = await testService({ env })
  expect(t.service.modules.smsProvider.name).toBe('aws,smpp,local')
})

test('when a provider cannot be reached, the next one sends the message, and a metric counts the failing one', async () => {
  const env = { SMS_PROVIDER: 'smpp,local', SMPP_URL: 'smpp://acme@127.0.0.1:1' }
  const t = await testService({ env })
  const metric = async () => /^sms_providers_failing (\d+)$/m.exec((await t.ask('GET', '/metrics')).text)?.[1]
  expect(await metric()).toBe('0')
  for (let i = 0; i < 5; i++) expect((await t.service.modules.smsProvider.send(testSms())).provider).toBe('local')
  expect(await metric()).toBe('1')
})

test('a media message goes to a provider that can send it', async () => {
  const smsc = await openSmsc()
  const t = await testService({ env: { SMS_PROVIDER: 'smpp,local', SMPP_URL: smsc.url } })
  const { smsProvider } = t.service.modules
  expect((await smsProvider.send(testSms({ mediaUrl: ['s3://files/a.png'] }))).provider).toBe('local')
  expect((await smsProvider.send(testSms())).provider).toBe('smpp')
  expect(smsc.submits).toHaveLength(1)
})

test('sending an SMS inside a database transaction is refused', async () => {
  const { service } = await testService()
  await expect(service.db.tx(() => service.modules.smsProvider.send(testSms()))).rejects.toThrow(
    'handing over an SMS inside a database transaction',
  )
})

test('SD-47 an SMS through AWS carries its id, and the event that returns the id changes its status', async () => {
  const contexts: unknown[] = []
  const server = createServer(async (request, response) => {
    contexts.push(((await json(request)) as { Context: unknown }).Context)
    response.setHeader('content-type', 'application/x-amz-json-1.0').end('{"MessageId":"aws-1"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  onTestFinished(() => {
    vi.unstubAllEnvs()
    server.closeAllConnections()
    server.close()
  })
  const sns = await makeSns()
  const TopicArn = 'arn:aws:sns:eu-west-1:123456789012:sms-events'
  const AWS_ENDPOINT_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { SMS_PROVIDER: 'aws', SMS_SNS_TOPICS: TopicArn, AWS_ENDPOINT_URL }
  const t = await testService({ ...sns.overrides, env })
  const acme = await t.org()
  const phone = smsClient(t, acme)
  const id = await phone.sent()
  expect(contexts).toEqual([{ 'tidings-org': acme.org.id, 'tidings-message': id }])
  const event = { eventType: 'TEXT_DELIVERED', eventTimestamp: Date.now(), context: contexts[0] }
  const raw = JSON.stringify(sns.signed(sns.notification(event, { TopicArn })))
  expect((await t.ask('POST', '/api/webhooks/provider/sms', { raw })).body).toEqual({ status: 'notification' })
  expect((await phone.row(id)).status).toBe('delivered')
})
