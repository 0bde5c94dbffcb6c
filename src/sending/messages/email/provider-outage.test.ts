/** Immediate sends while the only provider cannot take them: retries in the request, then refusal or queueing. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { advance } from '../../../../test/clients/key-client.ts'
import { mail, mailer } from '../../../../test/clients/mailer.ts'
import { postOf, startRelay } from '../../../../test/clients/post-client.ts'
import { mailer as smtpClient, startSubmissionService } from '../../../../test/clients/submission-client.ts'
import type { Reply } from '../../../../test/service/service.ts'

/** For a busy machine. */
const slowPoll = { timeout: 20_000 }
const busy = { code: 451, text: '4.3.0 try again later' }

/** A service with one relay, which cannot take mail until `recover` is called. */
const setUp = async (onProviderOutage: 'refuse' | 'queue') => {
  let down = true
  const relay = await startRelay(() => (down ? busy : undefined))
  const t = await startSubmissionService({
    env: { EMAIL_PROVIDER: 'smtp', SMTP_URL: relay.url, ON_PROVIDER_OUTAGE: onProviderOutage },
  })
  onTestFinished(t.stop)
  const own = await mailer(t)
  /** Ends the retries of the request by moving the clock. */
  const outlasting = async <T>(sending: Promise<T>): Promise<T> => {
    const before = relay.attempts()
    await expect.poll(relay.attempts, slowPoll).toBeGreaterThan(before + 1)
    await advance(t, 11)
    return sending
  }
  return {
    t,
    own,
    relay,
    outlasting,
    fire: postOf(t, own).fire,
    recover: () => {
      down = false
    },
  }
}

const queuedAnswer = {
  id: expect.stringMatching(/^msg_/),
  channel: 'email',
  status: 'scheduled',
  created_at: expect.any(String),
  scheduled_at: expect.any(String),
}

const expectFailed = ({ status, body }: Reply): string => {
  expect([status, body.error.code]).toEqual([500, 'INTERNAL_ERROR'])
  return body.error.message_id
}

const pdf = { filename: 'a.pdf', content: Buffer.from('a').toString('base64') }

test('R-20 an outage that ends within the request is not visible to the caller', async () => {
  const { own, relay, recover } = await setUp('refuse')
  const [single, batch] = [own.send(mail()), own.batch([mail(), mail()])]
  await expect.poll(relay.attempts, slowPoll).toBeGreaterThan(3)
  recover()
  expect([(await single).status, (await single).body.status]).toEqual([200, 'sent'])
  expect((await batch).body).toMatchObject({ total: 2, succeeded: 2, failed: 0 })
  expect(relay.accepted).toHaveLength(3)
  expect(await own.traces()).toMatchObject({
    messages: ['sent', 'sent', 'sent'],
    events: ['message.sent', 'message.sent', 'message.sent'],
    used: { 'org live email': 3 },
  })
})

test('R-09 R-20 S-111 by default a longer outage is a 500 and a failed message that is not counted', async () => {
  const { own, relay, recover, outlasting, fire } = await setUp('refuse')
  const id = expectFailed(await outlasting(own.send(mail())))
  expect((await own.get(id)).body).toMatchObject({ status: 'failed', error_message: expect.any(String) })
  expect(await own.traces()).toEqual({ messages: ['failed'], events: [], audited: [], outbox: 0, used: {} })
  recover()
  expect([await fire(), relay.accepted]).toEqual([0, []])
})

describe('with ON_PROVIDER_OUTAGE=queue', () => {
  test('R-20 a longer outage is a 200 for a scheduled message, and the scheduler delivers it once', async () => {
    const { t, own, relay, recover, outlasting, fire } = await setUp('queue')
    const body = mail({ to: ['ada@example.com', 'bo@example.com'], cc: ['cy@example.com'] })
    const once = { headers: { 'idempotency-key': 'queued' } }
    const reply = await outlasting(own.send(body, once))
    expect([reply.status, reply.body]).toEqual([200, queuedAnswer])
    const { id, scheduled_at } = reply.body
    expect(Date.parse(scheduled_at)).toBeLessThanOrEqual(t.service.clock.millis())
    expect((await own.get(id)).body).toMatchObject({ status: 'scheduled', scheduled_at, sent_at: null })
    expect(await own.traces()).toEqual({
      messages: ['scheduled'],
      events: [],
      audited: [expect.objectContaining({ channel: 'email', count: 1, environment: 'live' })],
      outbox: 0,
      used: {},
    })
    const replay = await own.send(body, once)
    expect([replay.text, replay.headers['idempotent-replayed']]).toEqual([reply.text, 'true'])

    recover()
    await advance(t, 1)
    expect([await fire(), relay.accepted]).toEqual([1, [id]])
    expect((await own.get(id)).body).toMatchObject({ status: 'sent', to: body.to, cc: body.cc, error_message: null })
    const traces = await own.traces()
    expect(traces).toMatchObject({ messages: ['sent'], events: ['message.sent'], used: { 'org live email': 3 } })
    expect(traces.audited).toHaveLength(1)
  })

  test('R-20 a message that stays undeliverable is retried by the scheduler', async () => {
    const { t, own, relay, recover, outlasting, fire } = await setUp('queue')
    const { id } = (await outlasting(own.send(mail()))).body
    await advance(t, 1)
    await fire()
    expect((await own.get(id)).body.status).toBe('scheduled')
    recover()
    await advance(t, 59)
    expect([await fire(), relay.accepted]).toEqual([0, []])
    await advance(t, 2)
    expect([await fire(), relay.accepted]).toEqual([1, [id]])
    expect(await own.used()).toMatchObject({ 'org live email': 1 })
  })

  test('R-09 R-20 a message with attachments fails, and a batch item is a PROVIDER_ERROR', async () => {
    const { own, relay, recover, outlasting, fire } = await setUp('queue')
    expectFailed(await outlasting(own.send(mail({ attachments: [pdf] }))))
    const { body } = await outlasting(own.batch([mail()]))
    expect(body.data).toEqual([
      { index: 0, id: expect.stringMatching(/^msg_/), status: 'failed', error: expect.anything() },
    ])
    expect(body.data[0].error.code).toBe('PROVIDER_ERROR')
    recover()
    expect([await fire(), relay.accepted]).toEqual([0, []])
    expect(await own.traces()).toEqual({
      messages: ['failed', 'failed'],
      events: ['message.failed'],
      audited: [],
      outbox: 0,
      used: {},
    })
  })

  test('R-20 S-106 a message from the sandbox sender counts on the day of the request, once', async () => {
    const { t, own, relay, recover, outlasting, fire } = await setUp('queue')
    const reply = await outlasting(own.send(mail({ from: own.sandbox, to: [own.owner.email] })))
    expect([reply.status, await own.used()]).toEqual([200, { 'org live sandbox': 1 }])
    recover()
    await advance(t, 1)
    expect([await fire(), relay.accepted]).toEqual([1, [reply.body.id]])
    expect(await own.used()).toMatchObject({ 'org live sandbox': 1, 'org live email': 1 })
  })

  test('R-20 a message over SMTP is accepted too', async () => {
    const { t, own, relay, recover, outlasting, fire } = await setUp('queue')
    const { code, id } = await outlasting(smtpClient(t.port, own.live)(mail() as { to: string[] }))
    expect([code, (await own.get(id)).body.status]).toEqual([250, 'scheduled'])
    recover()
    await advance(t, 1)
    expect([await fire(), relay.accepted]).toEqual([1, [id]])
  })
})
