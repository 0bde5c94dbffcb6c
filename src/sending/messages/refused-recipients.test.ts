/** Recipients that the relay refuses for good: alone, with a good recipient, in a batch, and from the scheduler. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { advance } from '../../../test/clients/key-client.ts'
import { type Mailer, mail, mailer } from '../../../test/clients/mailer.ts'
import { postOf, startRelay } from '../../../test/clients/post-client.ts'
import { mailer as smtpClient, startSubmissionService } from '../../../test/clients/submission-client.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import type { TestService } from '../../../test/service/service.ts'

const replies: Record<string, { code: number; text: string }> = {
  'Gone@reader.test': { code: 550, text: '5.1.1 <Gone@reader.test>: user unknown' },
  'moved@reader.test': { code: 551, text: '5.1.6 moved away' },
  'nobody@reader.test': { code: 550, text: 'No such user here' },
  'policy@reader.test': { code: 554, text: '5.7.1 relaying denied' },
  'full@reader.test': { code: 552, text: '5.2.2 mailbox full' },
  'sender@reader.test': { code: 550, text: '5.1.8 the domain of the sender does not exist' },
  'plain@reader.test': { code: 550, text: 'Not today' },
  'later@reader.test': { code: 450, text: '4.2.0 greylisted' },
}
const unknownAddresses = ['Gone@reader.test', 'moved@reader.test', 'nobody@reader.test']
const otherRefusals = ['policy@reader.test', 'full@reader.test', 'sender@reader.test', 'plain@reader.test']
const goneText = '550 5.1.1 <Gone@reader.test>: user unknown'

let t: TestService & { port: number }
let own: Mailer
let accepted: string[]

beforeEach(async () => {
  const relay = await startRelay((address) => replies[address])
  accepted = relay.accepted
  t = await startSubmissionService({ env: { EMAIL_PROVIDER: 'smtp', SMTP_URL: relay.url } })
  onTestFinished(t.stop)
  own = await mailer(t)
})

const suppressions = () =>
  t.database.sql<{ value: string; reason: string; source: string; message_id: string }>(
    `select value, reason, source, message_id from suppressions where org_id = $1 and channel = 'email' order by value`,
    [own.orgId],
  )
const suppressed = async () => (await suppressions()).map(({ value }) => value)

describe('a message that is accepted for nobody', () => {
  test('R-18 R-09 suppresses the address, and the error of a single send says that the recipient was refused', async () => {
    const reply = await own.send(mail({ to: ['Gone@reader.test'] }))
    expect([reply.status, reply.body.error]).toEqual([
      500,
      {
        type: 'server_error',
        code: 'INTERNAL_ERROR',
        message: 'The recipient was refused by the provider. The message was not sent.',
        request_id: reply.headers['x-request-id'],
        message_id: expect.stringMatching(/^msg_/),
      },
    ])
    const { message_id } = reply.body.error
    expect((await own.get(message_id)).body).toMatchObject({ status: 'failed', error_message: goneText })
    expect(await suppressions()).toEqual([
      { value: 'gone@reader.test', reason: 'bounce', source: 'provider', message_id },
    ])
    expect(await own.traces()).toEqual({ messages: ['failed'], events: [], audited: [], outbox: 0, used: {} })
    expectRefusal(await own.send(mail({ to: ['gone@reader.test'] })), 'ALL_SUPPRESSED')
  })

  test('R-18 suppresses only addresses that do not exist', async () => {
    for (const to of [...unknownAddresses, ...otherRefusals]) {
      expect((await own.send(mail({ to: [to] }))).status, to).toBe(500)
    }
    expect(await suppressed()).toEqual(unknownAddresses.map((address) => address.toLowerCase()).sort())
  })

  test('R-18 is a PROVIDER_ERROR with its row on a batch item', async () => {
    const { body } = await own.batch([mail({ to: ['Gone@reader.test'] }), mail()])
    expect(body.data).toEqual([
      {
        index: 0,
        id: expect.stringMatching(/^msg_/),
        status: 'failed',
        error: { code: 'PROVIDER_ERROR', message: `The recipient was refused: ${goneText}` },
      },
      { index: 1, id: accepted[0], status: 'sent', error: null },
    ])
    expect(await suppressed()).toEqual(['gone@reader.test'])
    expect(await own.traces()).toMatchObject({
      messages: ['failed', 'sent'],
      used: { 'org live email': 1 },
    })
  })

  test('R-18 fails with message.failed when the scheduler sends it', async () => {
    const { scheduled, fire } = postOf(t, own)
    const id = await scheduled({ to: ['Gone@reader.test'] })
    await advance(t, 61)
    expect(await fire()).toBe(1)
    expect((await own.get(id)).body).toMatchObject({ status: 'failed', error_message: goneText })
    expect((await own.events()).map(({ event, data }) => [event, data.error])).toEqual([['message.failed', goneText]])
    expect(await suppressed()).toEqual(['gone@reader.test'])
  })

  test('R-18 is a 550 5.1.1 over SMTP', async () => {
    const { code, response } = await smtpClient(t.port, own.live)({ ...mail(), to: ['Gone@reader.test'] })
    expect([code, response]).toEqual([550, expect.stringContaining('5.1.1 INTERNAL_ERROR The recipient was refused')])
    expect(await suppressed()).toEqual(['gone@reader.test'])
  })

  test('R-18 suppresses the unknown one of its recipients when the others are refused for another reason', async () => {
    const to = ['Gone@reader.test', 'policy@reader.test', 'moved@reader.test']
    expect((await own.send(mail({ to }))).body.error.message).toMatch(/^The recipients were refused/)
    expect(await suppressed()).toEqual(['gone@reader.test', 'moved@reader.test'])
  })
})

test('R-18 the same refusals next to a good recipient are bounces and suppress the same addresses', async () => {
  const to = ['ada@example.com', ...unknownAddresses, ...otherRefusals]
  const reply = await own.send(mail({ to }))
  expect([reply.status, accepted]).toEqual([200, [reply.body.id]])
  await t.service.modules.messages.outcomes.drained()
  expect(await suppressed()).toEqual(unknownAddresses.map((address) => address.toLowerCase()).sort())
  const shown = (await own.get(reply.body.id)).body
  expect(shown.status).toBe('bounced')
  const bounced = shown.status_history.filter(({ status }: { status: string }) => status === 'bounced')
  expect(bounced.map(({ recipient }: { recipient: string }) => recipient)).toEqual(to.slice(1))
})
