import { afterAll, expect, test } from 'vitest'
import { connectSmtp, startSubmissionService } from '../../../test/clients/submission-client.ts'
import { mintKey } from '../../customers/keys/key-secret.ts'

const t = await startSubmissionService()
afterAll(() => t.stop())
const { org } = await t.org()

const attempt = async (key: string, user = 'tidings'): Promise<string> => {
  const { command, socket } = await connectSmtp(t.port)
  const reply = await command(`AUTH PLAIN ${Buffer.from(`\0${user}\0${key}`).toString('base64')}`)
  socket.destroy()
  return reply.replace(/ \(req_\w+\)$/, '')
}

const revoke = (key: string) =>
  t.database.sql('update api_keys set revoked_at = created_at where prefix = $1 and last_four = $2', [
    key.slice(0, 13),
    key.slice(-4),
  ])

const failed = '535 5.7.8 UNAUTHORIZED Authentication failed: '
const notAKey = `${failed}the password must be an API key, which starts with svc_live_ or svc_test_.`
const notWhole = `${failed}the password is not a whole API key. Copy all 47 characters of the key.`
const unknown = `${failed}the password must be a valid API key. This key does not exist.`

test('A password that is not an API key, or not a whole one, gets a reply that says so', async () => {
  const { key } = mintKey('live')
  expect(await attempt('hunter2')).toBe(notAKey)
  expect(await attempt('')).toBe(notAKey)
  expect(await attempt(key.slice(0, -1))).toBe(notWhole)
  expect(await attempt(`${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`)).toBe(notWhole)
  expect(await attempt(key)).toBe(unknown)
})

test('A genuine key gets a reply that says whether it is revoked, expired or without the scope', async () => {
  const [revoked, expired] = [await t.key(org.id), await t.key(org.id, { expiresAt: new Date(1_000) })]
  await revoke(revoked)
  expect(await attempt(revoked)).toBe(`${failed}this API key is revoked. Use another key.`)
  expect(await attempt(expired)).toBe(`${failed}this API key has expired. Use another key, or change its expiry.`)
  const reader = await t.key(org.id, { scopes: ['read:messages'] })
  expect(await attempt(reader)).toBe('535 5.7.8 INSUFFICIENT_SCOPE This API key does not have the scope send:email.')
})

test('A key that is revoked and expired is reported as revoked, and a stranger learns neither', async () => {
  const both = await t.key(org.id, { expiresAt: new Date(1_000) })
  await revoke(both)
  expect(await attempt(both)).toBe(`${failed}this API key is revoked. Use another key.`)
  // The prefix and the last characters of a key are shown in lists, so they must not be enough.
  const guess = `${both.slice(0, 13)}${mintKey('live').key.slice(13, -4)}${both.slice(-4)}`
  expect(await attempt(guess)).toBe(notWhole)
})

test('A key in the user name gets a reply that says where it belongs', async () => {
  const genuine = await t.key(org.id)
  const swapped = `${failed}the API key must be the password. The user name can be any text.`
  expect(await attempt('', genuine)).toBe(swapped)
  expect(await attempt('tidings', mintKey('live').key)).toBe(swapped)
  expect(await attempt(genuine, genuine)).toMatch(/^235 /)
})

test('Over HTTP every unusable key gets the same response', async () => {
  const revoked = await t.key(org.id)
  await revoke(revoked)
  const bodies = []
  for (const key of [revoked, await t.key(org.id, { expiresAt: new Date(1_000) }), mintKey('live').key, 'hunter2']) {
    const { status, body } = await t.ask('GET', '/api/v1/emails', { key })
    bodies.push([status, { ...body.error, request_id: '' }])
  }
  expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1)
  expect(bodies[0]?.[0]).toBe(401)
})
