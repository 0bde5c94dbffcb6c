/** The time limit of a batch, which includes fetching attachments before the first item. */
import { expect, onTestFinished, test } from 'vitest'
import { mail, mailer } from '../../../../test/clients/mailer.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { makeGuardedAgent } from '../../../platform/outgoing/guarded.ts'

/** A service whose clock advances by so many seconds when it fetches an attachment. */
const withSlowFiles = async (seconds: number) => {
  const guarded = makeGuardedAgent({ allowInsecure: false })
  const agent: typeof guarded = {
    ...guarded,
    request: async () => {
      await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })
      return { status: 200, headers: {}, body: Buffer.from('file'), truncated: false }
    },
  }
  const t = await startTestService({ agent })
  onTestFinished(() => t.stop())
  const acme = await mailer(t)
  const attachments = [{ filename: 'a.txt', url: 'https://files.example.test/a' }]
  const reply = await acme.batch(mail({ to: ['a@example.com', 'b@example.com'], attachments }))
  return { acme, reply }
}

test('S-114 X-213 items are not sent when fetching attachments takes 300 seconds', async () => {
  const { acme, reply } = await withSlowFiles(300)
  const error = {
    code: 'PROVIDER_ERROR',
    message: 'Not sent: the batch reached its time limit. It is safe to try again.',
  }
  expect([reply.status, reply.body]).toEqual([
    200,
    {
      data: [0, 1].map((index) => ({ index, id: null, status: 'failed', error })),
      total: 2,
      succeeded: 0,
      failed: 2,
    },
  ])
  expect(await acme.traces()).toEqual({ messages: [], events: [], audited: [], outbox: 0, used: {} })
})

test('S-114 items are sent when fetching attachments takes less than 300 seconds', async () => {
  const { reply } = await withSlowFiles(290)
  expect(reply.body).toMatchObject({ total: 2, succeeded: 2, failed: 0 })
})
