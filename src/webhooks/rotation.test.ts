import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { afterAll, expect, test } from 'vitest'
import { withTrail } from '../../test/audit/trail.ts'
import { hexHmac, startWebhookService, webhookClient } from '../../test/clients/webhook-client.ts'
import type { Receiver } from '../../test/servers/receiver.ts'

const t = await startWebhookService()
afterAll(() => t.stop())

const newClient = async () => webhookClient(t, await t.org())
type Client = Awaited<ReturnType<typeof newClient>>
type Received = Receiver['got'][number]

const hour = 3_600

const headersOf = ({ headers }: Received) => headers as Record<string, string>

const signaturesOf = (got: Received): string[] => (headersOf(got)['webhook-signature'] as string).split(' ')

/** Which of the secrets each library accepts. */
const acceptedBy = (got: Received, secrets: string[]): { standard: string[]; svix: string[] } => {
  const accepts = (Library: typeof StandardWebhook | typeof SvixWebhook) => (secret: string) => {
    try {
      new Library(secret).verify(got.text, headersOf(got))
      return true
    } catch {
      return false
    }
  }
  return { standard: secrets.filter(accepts(StandardWebhook)), svix: secrets.filter(accepts(SvixWebhook)) }
}

const lastDelivery = async (acme: Client, receiver: Receiver): Promise<Received> => {
  await acme.emit()
  await acme.run()
  return receiver.got.at(-1) as Received
}

const storedSecret = async (id: string) =>
  (
    await t.database.sql<{ previous_secret: string | null; previous_secret_until: Date | null }>(
      'select previous_secret, previous_secret_until from webhook_endpoints where id = $1',
      [id],
    )
  )[0]

const nothing = { previous_secret: null, previous_secret_until: null }

test('X-138 During an overlap both secrets verify with the Standard Webhooks libraries, newest first', async () => {
  const acme = await newClient()
  const { id, secret: old, receiver } = await acme.made()
  const { result, trail } = await withTrail(t.database, acme.orgId, () =>
    acme.rotate(id, undefined, { overlap_hours: 2 }),
  )
  const { secret, secret_rotated_at: rotatedAt } = result.body
  const until = new Date(Date.parse(rotatedAt) + 2 * hour * 1000).toISOString()
  expect([result.status, result.body]).toEqual([
    200,
    { id, secret: expect.any(String), secret_rotated_at: rotatedAt, previous_secret_expires_at: until },
  ])
  expect(trail).toEqual([
    expect.objectContaining({
      action: 'webhook.rotated',
      resource_id: id,
      metadata: expect.objectContaining({ overlap_hours: 2 }),
    }),
  ])

  const got = await lastDelivery(acme, receiver)
  expect(acceptedBy(got, [old, secret])).toEqual({ standard: [old, secret], svix: [old, secret] })
  const at = new Date(Number(headersOf(got)['webhook-timestamp']) * 1000)
  const signed = (key: string) => new StandardWebhook(key).sign(headersOf(got)['webhook-id'] as string, at, got.text)
  expect(signaturesOf(got)).toEqual([signed(secret), signed(old)])
  expect(headersOf(got)['x-service-signature']).toBe(hexHmac(secret, got.text))

  const fired = await acme.testFire(id)
  expect(fired.body.success).toBe(true)
  const sample = receiver.got.at(-1) as Received
  expect(acceptedBy(sample, [old, secret])).toEqual({ standard: [old, secret], svix: [old, secret] })
})

test('X-138 The old secret is stored encrypted, and a delivery after the overlap drops it', async () => {
  const acme = await newClient()
  const { id, secret: old, receiver } = await acme.made()
  const { secret } = (await acme.rotate(id, undefined, { overlap_hours: 1 })).body
  const stored = await storedSecret(id)
  expect(stored?.previous_secret).toMatch(/./)
  expect(stored?.previous_secret).not.toContain(old.slice('whsec_'.length))
  expect((await acme.get(id)).text).not.toContain('previous')

  await acme.advance(hour + 1)
  const fired = await acme.testFire(id)
  expect(fired.body.success).toBe(true)
  expect(acceptedBy(receiver.got.at(-1) as Received, [old, secret])).toEqual({ standard: [secret], svix: [secret] })
  const got = await lastDelivery(acme, receiver)
  expect(signaturesOf(got)).toHaveLength(1)
  expect(acceptedBy(got, [old, secret])).toEqual({ standard: [secret], svix: [secret] })
  expect(await storedSecret(id)).toEqual(nothing)
})

test('X-138 The retention task drops the old secret of an endpoint that receives nothing, and no other', async () => {
  const sweep = () => t.ask('POST', '/api/dev/run', { body: { task: 'retention' } })
  const acme = await newClient()
  const [ended, running] = [await acme.made(), await acme.made()]
  await acme.advance(24 * hour)
  await sweep()
  await acme.rotate(ended.id, undefined, { overlap_hours: 1 })
  await acme.rotate(running.id, undefined, { overlap_hours: 24 })
  const before = await storedSecret(running.id)
  await acme.advance(hour + 1)
  const reply = await sweep()
  expect([reply.status, reply.body.counts.webhook_secrets_dropped]).toEqual([200, 1])
  expect(await storedSecret(ended.id)).toEqual(nothing)
  expect(await storedSecret(running.id)).toEqual(before)
})

test('X-138 XD-12 A second rotation ends the overlap of the first, and by default there is none', async () => {
  const acme = await newClient()
  const { id, secret: first, receiver } = await acme.made()
  const second = (await acme.rotate(id, undefined, { overlap_hours: 24 })).body.secret
  const third = (await acme.rotate(id, undefined, { overlap_hours: 24 })).body.secret
  const got = await lastDelivery(acme, receiver)
  expect(acceptedBy(got, [first, second, third]).standard).toEqual([second, third])

  const last = await acme.rotate(id, undefined, {})
  expect(Object.keys(last.body)).toEqual(['id', 'secret', 'secret_rotated_at'])
  expect(await storedSecret(id)).toEqual(nothing)
  const after = await lastDelivery(acme, receiver)
  expect(acceptedBy(after, [first, second, third, last.body.secret]).svix).toEqual([last.body.secret])
})

test.each([-1, 25, 1.5, '2', null])('An overlap of %j hours is refused and the secret stays', async (hours) => {
  const acme = await newClient()
  const { id, secret, receiver } = await acme.made()
  const { result, trail } = await withTrail(t.database, acme.orgId, () =>
    acme.rotate(id, undefined, { overlap_hours: hours }),
  )
  expect([result.status, result.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  expect(result.body.error.errors).toEqual([expect.objectContaining({ path: ['overlap_hours'] })])
  expect(trail).toEqual([])
  expect(acceptedBy(await lastDelivery(acme, receiver), [secret]).standard).toEqual([secret])
})
