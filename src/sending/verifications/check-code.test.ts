/** Checking a code: the verdicts, who may check what, and how long rows are kept. */
import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { type Verifier, verifier, wrong } from '../../../test/clients/verifier.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'
import { makeOneTimeCodes } from './one-time-code.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)
const own = await verifier(t)

const pending = async (of: Verifier = own, body = {}, how = {}) => {
  const id = await of.started(body, how)
  return { id, code: await of.code(id) }
}
const denied = (id: string, reason: string) => ({ id, status: 'denied', reason })
const attempts = async (id: string) => (await own.stored(id)).attempts

describe('verdicts', () => {
  test('S-064 S-066 S-067 S-047 the right code is approved once, spends no attempt and is then not found', async () => {
    const { id, code } = await pending()
    const reply = await own.check(id, code)
    expect([reply.status, reply.body]).toEqual([200, { id, status: 'approved' }])
    expect(await own.stored(id)).toMatchObject({ attempts: 0, used_at: expect.any(Date) })
    const again = await leavesNoTrace(() => own.check(id, code))
    expect([again.status, again.body]).toEqual([200, denied(id, 'not_found')])
    expect((await leavesNoTrace(() => own.check(id, wrong(code)))).body).toEqual(denied(id, 'not_found'))
  })

  test('S-065 S-068 S-070 SD-18 each wrong code spends an attempt, and after the last one the right code is denied', async () => {
    const { id, code } = await pending(own, { max_attempts: 2 })
    expect((await own.check(id, wrong(code))).body).toEqual(denied(id, 'invalid'))
    expect(await attempts(id)).toBe(1)
    expect((await own.check(id, '')).status).toBe(422)
    expect((await own.check(id, `${code}0`)).body).toEqual(denied(id, 'invalid'))
    expect(await attempts(id)).toBe(2)
    for (const guess of [code, wrong(code)]) {
      expect((await leavesNoTrace(() => own.check(id, guess))).body).toEqual(denied(id, 'max_attempts'))
    }
  })

  test('S-047 S-066 the right code is approved after all wrong attempts but one', async () => {
    const { id, code } = await pending(own, { max_attempts: 3 })
    await own.check(id, wrong(code))
    await own.check(id, wrong(code))
    expect((await own.check(id, code)).body).toEqual({ id, status: 'approved' })
    expect(await attempts(id)).toBe(2)
  })

  test('S-069 SD-18 SD-19 after the ttl every code is expired, also when the attempts are spent', async () => {
    const other = await verifier(t)
    const { id, code } = await pending(other, { ttl_seconds: 60, max_attempts: 1 })
    await other.check(id, wrong(code))
    expect((await other.check(id, code)).body).toEqual(denied(id, 'max_attempts'))
    await other.advance(61)
    expect((await leavesNoTrace(() => other.check(id, code))).body).toEqual(denied(id, 'expired'))
    expect((await other.events()).length).toBe(0)
  })

  test('S-071 R-29 an unknown or malformed id is denied as not_found, not a 404', async () => {
    for (const id of [newId('verification'), 'ver_1', 'msg_x', 'ver_%00', 'x'.repeat(3_000), newId('message')]) {
      const reply = await leavesNoTrace(() => own.check(id, '123456'))
      expect([reply.status, reply.body]).toEqual([200, denied(decodeURIComponent(id), 'not_found')])
    }
  })

  test.each([undefined, '', 123456, null, ['123456'], 'x'.repeat(101)])(
    'S-063 SD-18 a code that is missing, empty, too long or no string is 422 and spends nothing: %j',
    async (code) => {
      const { id, code: right } = await pending()
      const reply = await leavesNoTrace(() => own.check(id, code))
      expect(reply.status).toBe(422)
      expect(reply.body.error.code).toBe('VALIDATION_ERROR')
      expect(reply.body.error.errors[0].path).toEqual(['code'])
      expect((await own.check(id, right)).body.status).toBe('approved')
    },
  )

  test('S-074 the check ignores an Idempotency-Key: each call is judged by itself', async () => {
    const { id, code } = await pending()
    const headers = { 'idempotency-key': 'check' }
    expect((await own.check(id, wrong(code), { headers })).body).toEqual(denied(id, 'invalid'))
    expect((await own.check(id, wrong(code), { headers })).body).toEqual(denied(id, 'invalid'))
    expect(await attempts(id)).toBe(2)
    expect((await own.check(id, code, { headers })).body).toEqual({ id, status: 'approved' })
    expect((await own.check(id, code, { headers })).body).toEqual(denied(id, 'not_found'))
    const keys = await t.database.sql("select 1 from idempotency_keys where org_id = $1 and key = 'check'", [own.orgId])
    expect(keys).toEqual([])
  })

  test('a second start to the same destination is another verification, and both codes are valid', async () => {
    const to = own.newNumber()
    const first = await pending(own, { to })
    const second = await pending(own, { to })
    expect(second.id).not.toBe(first.id)
    const crossed = await own.check(second.id, first.code)
    if (first.code !== second.code) expect(crossed.body).toEqual(denied(second.id, 'invalid'))
    expect((await own.check(first.id, first.code)).body.status).toBe('approved')
    expect((await own.check(second.id, second.code)).body.status).toBe('approved')
  })
})

describe('who may check', () => {
  test('S-072 a test key checks only verifications of test keys, a live key checks either', async () => {
    const { id, code } = await pending()
    expect((await leavesNoTrace(() => own.check(id, code, { key: own.test }))).body).toEqual(denied(id, 'not_found'))
    expect((await own.check(id, code)).body.status).toBe('approved')
    for (const key of [own.test, own.live]) {
      const simulated = await own.started({}, { key: own.test })
      expect((await own.check(simulated, '123456', { key })).body.status).toBe('approved')
    }
  })

  test('codes of another org, another tenant and another project are not found and stay valid', async () => {
    const [tenantId, otherTenant] = [await t.tenant(own.orgId), await t.tenant(own.orgId)]
    const key = await t.key(own.orgId, { tenantId })
    const { id, code } = await pending(own, {}, { key })
    expect(await own.stored(id)).toMatchObject({ tenant_id: tenantId })
    const project = await t.ask('POST', '/api/v1/projects', { key: own.live, body: { name: 'Other' } })
    expect(project.status).toBe(201)
    const strangers = [
      (await verifier(t)).live,
      await t.key(own.orgId, { tenantId: otherTenant }),
      await t.key(own.orgId, { projectId: project.body.id }),
    ]
    for (const stranger of strangers) {
      const reply = await leavesNoTrace(() => own.check(id, code, { key: stranger }))
      expect(reply.body).toEqual(denied(id, 'not_found'))
    }
    expect((await own.check(id, code)).body).toEqual({ id, status: 'approved' })
    const ofOrg = await pending()
    expect((await own.check(ofOrg.id, ofOrg.code, { key })).body).toEqual(denied(ofOrg.id, 'not_found'))
  })
})

describe('retention', () => {
  const retain = async () => (await t.ask('POST', '/api/dev/run', { body: { task: 'retention' } })).body.counts

  test('S-062 X-355 SD-19 a row is expired until two days after its start, and is then deleted', async () => {
    await own.advance(3 * 86_400)
    await retain()
    const { id, code } = await pending()
    await own.advance(2 * 86_400 - 60)
    expect(await retain()).toMatchObject({ verifications_deleted: 0 })
    expect((await own.check(id, code)).body).toEqual(denied(id, 'expired'))
    await own.advance(61)
    expect((await own.check(id, code)).body).toEqual(denied(id, 'not_found'))
    const counts = await retain()
    expect(counts).toMatchObject({ verifications_deleted: 1, verification_windows_deleted: expect.any(Number) })
    expect(await t.database.sql('select 1 from verifications')).toEqual([])
    expect(await t.database.sql('select 1 from verification_windows')).toEqual([])
    expect((await own.check(id, code)).body).toEqual(denied(id, 'not_found'))
  })

  test('the codes of an erased tenant are deleted with it', async () => {
    const other = await verifier(t)
    const tenantId = await t.tenant(other.orgId, { ref: 'acme' })
    const id = await other.started({}, { headers: { 'x-service-tenant-ref': 'acme' } })
    expect(await other.stored(id)).toMatchObject({ tenant_id: tenantId })
    const kept = await other.started()
    const path = `/api/v1/tenants/${tenantId}`
    expect((await t.ask('DELETE', path, { key: other.live })).status).toBe(200)
    expect((await t.ask('POST', `${path}/erase`, { key: other.live })).status).toBe(200)
    expect(await other.stored(id)).toBeUndefined()
    expect(await other.stored(kept)).toBeDefined()
  })
})

describe('codes and their hashes', () => {
  test('SD-17 live codes are random digits of the given length with leading zeros, test codes are fixed', () => {
    const { codeOf } = makeOneTimeCodes({ masterKey: randomBytes(32), previous: [] })
    const codes = Array.from({ length: 5_000 }, () => codeOf(newId('verification'), 'live', 4))
    expect(codes.every((code) => /^\d{4}$/.test(code))).toBe(true)
    expect(codes.some((code) => code.startsWith('0'))).toBe(true)
    expect(new Set(codes).size).toBeGreaterThan(3_000)
    const id = newId('verification')
    expect(codeOf(id, 'live', 10)).toMatch(/^\d{10}$/)
    expect([4, 6, 10].map((length) => codeOf(id, 'test', length))).toEqual(['1234', '123456', '1234567890'])
  })

  test('the code of a verification follows from its id and the master key, and is another for each of them', () => {
    const [masterKey, id] = [randomBytes(32), newId('verification')]
    const { codeOf } = makeOneTimeCodes({ masterKey, previous: [] })
    expect(makeOneTimeCodes({ masterKey, previous: [] }).codeOf(id, 'live', 10)).toBe(codeOf(id, 'live', 10))
    expect(codeOf(newId('verification'), 'live', 10)).not.toBe(codeOf(id, 'live', 10))
    const foreign = makeOneTimeCodes({ masterKey: randomBytes(32), previous: [masterKey] })
    expect(foreign.codeOf(id, 'live', 10)).not.toBe(codeOf(id, 'live', 10))
  })

  test('S-045 the stored hash depends on the master key and the verification, so trying all codes finds nothing', async () => {
    const { id, code } = await pending(own, { code_length: 4 })
    const { code_hash } = await own.stored(id)
    const foreign = makeOneTimeCodes({ masterKey: randomBytes(32), previous: [] })
    const all = Array.from({ length: 10_000 }, (_, n) => foreign.of(id, String(n).padStart(4, '0')))
    expect(all).not.toContain(code_hash)
    const masterKey = Buffer.alloc(32, 7)
    const hashes = makeOneTimeCodes({ masterKey, previous: [] })
    expect(hashes.of(id, code)).toBe(code_hash)
    expect(hashes.of(newId('verification'), code)).not.toBe(code_hash)
    const rotated = makeOneTimeCodes({ masterKey: randomBytes(32), previous: [masterKey] })
    expect(rotated.all(id, code)).toContain(code_hash)
  })

  test('a code that was sent under a previous master key is approved after a rotation', async () => {
    const { id, code } = await pending()
    const { service, database } = t
    const next = await startTestService({
      database,
      config: { masterKey: randomBytes(32), masterKeyPrevious: [Buffer.alloc(32, 7)] },
    })
    try {
      const ask = (guess: string) =>
        next.ask('POST', `/api/v1/verifications/${id}/check`, { key: own.live, body: { code: guess } })
      await next.ask('POST', '/api/dev/clock', {
        body: {
          advance_seconds: Math.max(1, Math.ceil((service.clock.millis() - next.service.clock.millis()) / 1000)),
        },
      })
      expect((await ask(wrong(code))).body).toEqual(denied(id, 'invalid'))
      expect((await ask(code)).body).toEqual({ id, status: 'approved' })
    } finally {
      await next.stop()
    }
  })
})

test('a key of the org without the scope cannot learn whether an id exists', async () => {
  const { id } = await pending()
  const key = await t.key(own.orgId, { scopes: ['read:messages'] })
  expectRefusal(await own.check(id, '123456', { key }), 'INSUFFICIENT_SCOPE')
  expectRefusal(await own.check('nothing', '123456', { key }), 'INSUFFICIENT_SCOPE')
})
