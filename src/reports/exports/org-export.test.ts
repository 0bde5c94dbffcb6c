import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { trailOf } from '../../../test/audit/trail.ts'
import { type Member, person, primaryOwner } from '../../../test/clients/team-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import { makeDiskStore } from '../../providers/objects/disk-store.ts'
import { type ObjectStore, ObjectStoreFault } from '../../providers/objects/object-store.ts'
import { exportedTypes } from './store/exported-types.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidings-exports-'))
let fault: Error | undefined
const disk = makeDiskStore({ folder })
/** The folder, or a store that fails after the first part. */
const exportStore: ObjectStore = {
  ...disk,
  write: (name, content) =>
    disk.write(
      name,
      (async function* () {
        for await (const chunk of content) {
          yield chunk
          if (fault) throw fault
        }
      })(),
    ),
}
const t = await startTestService({ exportStore })
afterAll(async () => {
  await t.stop()
  rmSync(folder, { recursive: true })
})
const clock = t.service.clock as MovableClock
const runJobs = () => t.service.tasks.exports?.run()

const path = '/api/internal/org/export'
const linesIn = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

const startJob = async (owner: Member): Promise<string> => {
  const reply = await owner.ask('POST', `${path}/async`)
  expect(reply.status).toBe(202)
  return reply.body.id
}

const owned = async () => {
  const { org, keys } = await t.org()
  return { orgId: org.id, keys, owner: await primaryOwner(t, org.id) }
}

test('A-059 a developer, a member and a viewer are refused, and nothing starts', async () => {
  const { orgId } = await owned()
  const calls = [
    ['GET', path],
    ['POST', `${path}/async`],
    ['GET', `${path}/jobs`],
  ] as const
  for (const role of ['developer', 'member', 'viewer']) {
    const other = await person(t, { orgId, role })
    for (const [method, target] of calls) {
      const reply = await other.ask(method, target)
      expect([reply.status, reply.body], `${role} ${method} ${target}`).toEqual([403, { error: 'Owner role required' }])
    }
  }
  expect((await trailOf(t.database, orgId)).map(({ action }) => action)).not.toContain('org.exported')
  expect(await t.database.sql('select id from export_jobs where org_id = $1', [orgId])).toEqual([])
})

test('AD-133 HEAD is refused and starts no export', async () => {
  const { orgId, owner } = await owned()
  const before = await trailOf(t.database, orgId)
  for (let i = 0; i < 6; i++) {
    const reply = await owner.ask('HEAD', path)
    expect([reply.status, reply.headers.allow, reply.text]).toEqual([405, 'GET', ''])
  }
  expect(await trailOf(t.database, orgId)).toEqual(before)
  expect((await owner.ask('GET', path)).status, 'none of them was counted').toBe(200)
  expect((await owner.ask('HEAD', `${path}/jobs`)).status).toBe(200)
})

describe('the file', () => {
  test('A-197 starts with a manifest, has a line for each row of each type, and the request is in the audit log', async () => {
    const { orgId, keys, owner } = await owned()
    const odd = 'Line one\n"two" \\ three\ttab €\u{1F600}'
    for (const [n, name] of [odd, 'B'].entries()) {
      await t.ask('POST', '/api/v1/contacts', { key: keys.live, body: { email: `c${n}@example.com`, name } })
    }
    await owner.ask('POST', '/api/internal/team/invite', { email: 'new@example.com', role: 'viewer' })
    const reply = await owner.ask('GET', path)
    expect(reply.status).toBe(200)
    expect(reply.headers['content-type']).toBe('application/x-ndjson')
    expect(reply.headers['content-disposition']).toBe(`attachment; filename="${orgId}.ndjson"`)
    const [manifest, ...rows] = linesIn(reply.text)
    const types = [...exportedTypes.map(({ type }) => type), 'audit_entry']
    expect(manifest).toEqual({
      type: 'manifest',
      data: { format: 1, org_id: orgId, generated_at: expect.any(String), types },
    })
    expect(types.toSorted()).toEqual(
      [
        'org',
        'member',
        'invitation',
        'api_key',
        'domain',
        'webhook_endpoint',
        'template',
        'audience',
        'contact',
        'suppression',
        'message',
        'inbound_sms',
        'inbound_email',
        'brand',
        'campaign',
        'phone_number',
        'pool',
        'ip_pool',
        'dlt_template',
        'tenant',
        'audit_entry',
      ].toSorted(),
    )
    const contacts = rows.filter(({ type }) => type === 'contact').map(({ data }) => data)
    expect(contacts.map(({ email, name }) => [email, name]).toSorted()).toEqual([
      ['c0@example.com', odd],
      ['c1@example.com', 'B'],
    ])
    expect(contacts[0].created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(rows.filter(({ type }) => type === 'org').map(({ data }) => data.id)).toEqual([orgId])
    const exported = rows.filter(({ type, data }) => type === 'audit_entry' && data.action === 'org.exported')
    expect(exported).toMatchObject([{ data: { actorUserId: owner.userId, metadata: { mode: 'stream' } } }])
    const invited = rows.find(({ type, data }) => type === 'audit_entry' && data.action === 'member.invited')
    expect(invited?.data.resourceId).toBeNull()
    const trail = (await trailOf(t.database, orgId)).filter(({ action }) => action === 'org.exported')
    expect(trail).toMatchObject([{ resource_type: 'export', resource_id: null, metadata: { mode: 'stream' } }])
    const listed = await owner.ask('GET', '/api/internal/audit?limit=100')
    const entries = rows.filter(({ type }) => type === 'audit_entry').map(({ data }) => data)
    const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
    expect(entries.toSorted(byId)).toEqual(listed.body.data.toSorted(byId))
  })

  test('has every column of its tables, except those that are left out for a reason', async () => {
    const omitted: Record<string, string[]> = {
      orgs: ['deleted_at', 'first_steps', 'spend_cap_micros'],
      memberships: [],
      invitations: ['token_hash'],
      api_keys: ['hash'],
      domains: [
        'dkim_private_key',
        'next_check_at',
        'waiting_since',
        'check_claim',
        'temporary_failures',
        'simulated_status',
        'identity',
      ],
      webhook_endpoints: ['secret', 'previous_secret', 'previous_secret_until'],
      messages: ['from_address', 'to_addresses', 'history', 'due_at', 'claim', 'claimed_at', 'attempts', 'marks'],
      inbound_messages: ['channel', 'from_address', 'to_addresses'],
      brands: ['claimed_at'],
      campaigns: ['claimed_at'],
      phone_numbers: ['claimed_at'],
      ip_pools: ['provider_name'],
    }
    for (const table of new Set(exportedTypes.map((type) => type.table))) {
      const rows = await t.database.sql<{ column_name: string }>(
        "select column_name from information_schema.columns where table_schema = 'public' and table_name = $1",
        [table],
      )
      const shown = new Set(
        exportedTypes.filter((type) => type.table === table).flatMap(({ columns }) => columns.map(({ name }) => name)),
      )
      const missing = rows.map((row) => row.column_name).filter((name) => name !== 'org_id' && !shown.has(name))
      expect(missing.toSorted(), table).toEqual((omitted[table] ?? []).toSorted())
    }
  })

  test('A-111 A-112 contains no secret, as a stream and as a job', async () => {
    const { orgId, keys, owner } = await owned()
    const made = await t.ask('POST', '/api/v1/webhooks', {
      key: keys.live,
      body: { url: 'https://hooks.example.com/a', events: ['*'] },
    })
    expect(made.status).toBe(201)
    await owner.ask('POST', '/api/internal/team/invite', { email: 'secret@example.com', role: 'viewer' })
    await t.database.sql(
      `update users set password_hash = '$argon2id$hidden', totp_secret = 'hidden-totp', totp_enabled_at = created_at
       where id = $1`,
      [owner.userId],
    )
    await t.database.sql(
      `insert into audit_entries (org_id, id, action, metadata, created_at, signature, seal)
       values ($1, 'aud_00000000000000000000000001', 'member.invited',
         '{"deep": [{"token": "hidden-token", "invite_url": "hidden-url", "kept": 1}]}', now(), 'hidden-signature', null)`,
      [orgId],
    )
    const [key] = await t.database.sql<{ hash: Buffer }>('select hash from api_keys where org_id = $1', [orgId])
    const { text } = await owner.ask('GET', path)
    const secrets = [keys.live, keys.test, made.body.secret, key?.hash.toString('hex'), key?.hash.toString('base64')]
    const id = await startJob(owner)
    await runJobs()
    const { text: file } = await owner.ask('GET', `${path}/jobs/${id}/download`)
    for (const content of [text, file]) {
      for (const secret of secrets) expect(content).not.toContain(secret)
      expect(content).not.toMatch(/hidden|\$argon2|"(?:hash|secret|token_hash|signature|seal|dkim_private_key)"/)
      expect(content).toContain('"metadata":{"deep":[{"kept":1}]}')
      expect(content).toContain('https://hooks.example.com/a')
    }
  })
})

describe('a job', () => {
  test('A-327 A-328 A-329 is answered before it runs, runs once per org, and its file is then downloaded whole', async () => {
    const { orgId, owner } = await owned()
    const id = await startJob(owner)
    const queued = await owner.ask('GET', `${path}/jobs/${id}`)
    expect(queued.body).toEqual({
      id,
      status: 'queued',
      requested_by: owner.userId,
      created_at: expect.any(String),
      completed_at: null,
      expires_at: null,
      size_bytes: 0,
      rows: 0,
      progress: 0,
      error: null,
      download_url: null,
    })
    expect(await startJob(owner)).toBe(id)
    const early = await owner.ask('GET', `${path}/jobs/${id}/download`)
    expect([early.status, early.body]).toEqual([409, { error: 'Export is not ready', code: 'EXPORT_NOT_READY' }])
    await runJobs()
    const { body: job } = await owner.ask('GET', `${path}/jobs/${id}`)
    expect(job).toMatchObject({ status: 'completed', progress: 100, download_url: `${path}/jobs/${id}/download` })
    const reply = await owner.ask('GET', job.download_url)
    expect([reply.status, reply.headers['content-length']]).toEqual([200, String(job.size_bytes)])
    expect(Buffer.byteLength(reply.text)).toBe(job.size_bytes)
    expect(linesIn(reply.text)).toHaveLength(job.rows + 1)
    const trail = (await trailOf(t.database, orgId)).filter(({ action }) => action === 'org.exported')
    expect(trail).toMatchObject([{ resource_id: id, metadata: { mode: 'job', job_id: id } }])
    expect((await owner.ask('GET', `${path}/jobs`)).body.data).toEqual([job])
  })

  test('a download continues with a range, and a range outside the file is 416', async () => {
    const { owner } = await owned()
    const id = await startJob(owner)
    await runJobs()
    const url = `${path}/jobs/${id}/download`
    const whole = await owner.ask('GET', url)
    const size = Buffer.byteLength(whole.text)
    const etag = String(whole.headers.etag)
    const ask = (headers: Record<string, string>) =>
      owner.ask('GET', url, undefined, { headers: { cookie: owner.cookie, ...headers } })
    const rest = await ask({ range: 'bytes=100-', 'if-range': etag })
    expect([rest.status, rest.headers['content-range'], rest.text]).toEqual([
      206,
      `bytes 100-${size - 1}/${size}`,
      Buffer.from(whole.text).subarray(100).toString(),
    ])
    expect((await ask({ range: 'bytes=-5' })).text).toBe(whole.text.slice(-5))
    expect((await ask({ range: 'bytes=3-5' })).text).toBe(whole.text.slice(3, 6))
    expect((await ask({ range: 'bytes=100-', 'if-range': '"other"' })).status).toBe(200)
    expect((await ask({ range: 'bytes=0-1,5-6' })).status).toBe(200)
    const outside = await ask({ range: `bytes=${size}-` })
    expect([outside.status, outside.headers['content-range'], outside.body.code]).toEqual([
      416,
      `bytes */${size}`,
      'RANGE_NOT_SATISFIABLE',
    ])
  })

  test('AD-133 expires after seven days: the download is 410 at once, and the next night deletes the file', async () => {
    const { orgId, owner } = await owned()
    const id = await startJob(owner)
    await runJobs()
    expect(readdirSync(join(folder, orgId, id))).toHaveLength(1)
    clock.advance(7 * 86_400_000)
    const again = await primaryOwner(t, orgId)
    const gone = await again.ask('GET', `${path}/jobs/${id}/download`)
    expect([gone.status, gone.body.code]).toEqual([410, 'EXPORT_EXPIRED'])
    expect(await t.service.tasks.retention?.run()).toMatchObject({ export_files_deleted: expect.any(Number) })
    expect(readdirSync(join(folder, orgId, id))).toEqual([])
    expect((await again.ask('GET', `${path}/jobs/${id}`)).body).toMatchObject({ status: 'expired', download_url: null })
  })

  test.each([
    ['full', true, 'The export store is full. Free some space and start another export.'],
    ['away', false, 'The export store could not be reached. Start another export when it is back.'],
  ])('fails with a reason when the store is %s, and leaves no file', async (_, full, error) => {
    const { orgId, owner } = await owned()
    const id = await startJob(owner)
    fault = new ObjectStoreFault('not written', full)
    await runJobs()
    fault = undefined
    expect((await owner.ask('GET', `${path}/jobs/${id}`)).body).toMatchObject({ status: 'failed', error })
    expect(readdirSync(join(folder, orgId, id))).toEqual([])
    expect((await owner.ask('GET', `${path}/jobs/${id}/download`)).status).toBe(409)
    expect(await startJob(owner)).not.toBe(id)
    await runJobs()
  })

  test('whose worker was killed is begun again once its claim is over, and only the new worker completes it', async () => {
    const { orgId, owner } = await owned()
    const id = await startJob(owner)
    const until = new Date(clock.millis() + 60_000)
    await t.database.sql(
      "update export_jobs set status = 'running', claim = 'dead', due_at = $2, attempts = 1 where id = $1",
      [id, until],
    )
    await runJobs()
    expect((await owner.ask('GET', `${path}/jobs/${id}`)).body.status).toBe('running')
    clock.advance(61_000)
    await runJobs()
    expect((await owner.ask('GET', `${path}/jobs/${id}`)).body.status).toBe('completed')
    const [file] = readdirSync(join(folder, orgId, id))
    writeFileSync(join(folder, orgId, id, file as string), 'half')
    const cut = await owner.ask('GET', `${path}/jobs/${id}/download`)
    expect([cut.status, cut.body.code]).toEqual([503, 'EXPORT_UNAVAILABLE'])
  })

  test('that was interrupted three times fails', async () => {
    const { owner } = await owned()
    const id = await startJob(owner)
    await t.database.sql("update export_jobs set status = 'running', claim = 'dead', attempts = 3 where id = $1", [id])
    await runJobs()
    expect((await owner.ask('GET', `${path}/jobs/${id}`)).body).toMatchObject({
      status: 'failed',
      error: 'The export was interrupted 3 times. Start another one.',
    })
  })

  test('A sixth job within a day is refused', async () => {
    const { owner } = await owned()
    for (let n = 0; n < 5; n++) {
      await startJob(owner)
      await runJobs()
    }
    const refused = await owner.ask('POST', `${path}/async`)
    expect([refused.status, refused.body]).toEqual([
      429,
      { error: 'Too many exports. Try again later.', code: 'RATE_LIMITED' },
    ])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(86_000)
  })

  test('AD-133 requests at the same time get one job and spend one of the five of a day', async () => {
    const { orgId, owner } = await owned()
    const together = () => Promise.all(Array.from({ length: 8 }, () => owner.ask('POST', `${path}/async`)))
    const started = new Set<string>()
    for (let n = 0; n < 5; n++) {
      const replies = await together()
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 202))
      expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1)
      started.add(replies[0]?.body.id)
      await runJobs()
    }
    expect(started.size).toBe(5)
    expect((await together()).map(({ status }) => status)).toEqual(Array(8).fill(429))
    const trail = (await trailOf(t.database, orgId)).filter(({ action }) => action === 'org.exported')
    expect(trail).toHaveLength(5)
    clock.advance(86_400_000)
    const nextDay = await (await primaryOwner(t, orgId)).ask('POST', `${path}/async`)
    expect([nextDay.status, started.has(nextDay.body.id)]).toEqual([202, false])
  })

  test('AD-72 can be started and read while the org is suspended', async () => {
    const { orgId, owner } = await owned()
    await t.database.sql("update orgs set suspended_at = created_at, suspension_reason = 'spam' where id = $1", [orgId])
    const id = await startJob(owner)
    await runJobs()
    const file = await owner.ask('GET', `${path}/jobs/${id}/download`)
    expect([file.status, linesIn(file.text)[0].type]).toEqual([200, 'manifest'])
  })
})
