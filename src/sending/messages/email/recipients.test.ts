/** Rules about recipients and senders: suppressions, streams, unsubscribe links, domains, warmup and IP pools. */
import { afterAll, describe, expect, test } from 'vitest'
import { advance } from '../../../../test/clients/key-client.ts'
import { type Body, type Mailer, mail, mailer } from '../../../../test/clients/mailer.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await mailer(t)
const leavesNoTrace = await watchTables(t.database)

const handedTo = async (by: Mailer, more: Body) => {
  const reply = await by.send(mail(more))
  expect(reply.status, reply.text).toBe(200)
  return by.handed(reply.body.id)
}

describe('suppressions', () => {
  test('S-091 S-092 S-098 X-216 an unsubscribe blocks broadcasts, and every other suppression blocks both streams', async () => {
    for (const reason of ['bounce', 'complaint', 'stop', 'manual', 'unsubscribe']) {
      const to = [`${reason}@example.com`]
      await acme.suppress(`${reason}@example.com`, reason)
      for (const stream of ['transactional', 'broadcast']) {
        // Suppressions match the bare address and ignore case.
        const address = [`"X" <${(to[0] as string).toUpperCase()}>`]
        if (reason === 'unsubscribe' && stream === 'transactional') {
          expect((await acme.send(mail({ to: address, stream }))).status).toBe(200)
          continue
        }
        expectRefusal(await leavesNoTrace(() => acme.send(mail({ to: address, stream }))), 'ALL_SUPPRESSED')
      }
    }
  })

  test('S-099 S-100 X-217 SD-32 the recipients that are not suppressed get the message if at least one is in to', async () => {
    const own = await mailer(t)
    for (const name of ['a', 'b', 'c']) await own.suppress(`${name}@example.com`)
    const [a, b, c, free] = ['a', 'b', 'c', 'free'].map((name) => `${name}@example.com`) as [
      string,
      string,
      string,
      string,
    ]
    const kept = await handedTo(own, { to: [a, free], cc: [b], bcc: [c, 'd@example.com'] })
    expect(kept).toMatchObject({ to: [free], cc: [], bcc: ['d@example.com'] })
    expect((await own.used())['org live email']).toBe(2)
    expect((await own.get(kept.message_id as string)).body).toMatchObject({
      to: [free],
      cc: [],
      bcc: ['d@example.com'],
    })
    const left = await leavesNoTrace(() => own.send(mail({ to: [a, b], cc: [free] })))
    expectRefusal(left, 'TO_ALL_SUPPRESSED')
    const hidden = await leavesNoTrace(() => own.send(mail({ to: [a], bcc: [free] })))
    expectRefusal(hidden, 'TO_ALL_SUPPRESSED')
    expectRefusal(await leavesNoTrace(() => own.send(mail({ to: [a], cc: [b], bcc: [c] }))), 'ALL_SUPPRESSED')
  })

  test('SD-66 suppressions of a tenant apply to that tenant only, and those of the org to all', async () => {
    const tenantId = await t.tenant(acme.orgId)
    const key = await t.key(acme.orgId, { tenantId })
    await acme.suppress('tenants@example.com', 'manual', tenantId)
    await acme.suppress('orgs@example.com')
    const ask = (to: string, by: string) => acme.send(mail({ to: [to] }), { key: by })
    expectRefusal(await ask('tenants@example.com', key), 'ALL_SUPPRESSED')
    expect((await ask('tenants@example.com', acme.live)).status).toBe(200)
    expectRefusal(await ask('orgs@example.com', key), 'ALL_SUPPRESSED')
  })

  test('an internationalized domain and its punycode form are the same address', async () => {
    await acme.suppress('ada@xn--bcher-kva.example')
    expectRefusal(await acme.send(mail({ to: ['ada@bücher.example'] })), 'ALL_SUPPRESSED')
  })

  test('X-299 an address removed from the suppression list can receive mail again', async () => {
    const value = 'back@example.com'
    await acme.suppress(value, 'bounce')
    expectRefusal(await acme.send(mail({ to: [value] })), 'ALL_SUPPRESSED')
    const gone = await t.ask('DELETE', `/api/v1/suppressions?channel=email&value=${value}`, {
      key: acme.live,
    })
    expect(gone.status).toBe(200)
    expect((await acme.send(mail({ to: [value] }))).status).toBe(200)
  })
})

describe('unsubscribing', () => {
  const pair = ['list-unsubscribe', 'list-unsubscribe-post']
  const headersOf = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => pair.includes(name.toLowerCase())))

  test('S-089 S-090 SD-33 only a broadcast with a single recipient has the List-Unsubscribe headers', async () => {
    const link = expect.stringMatching(/^<http:\/\/127\.0\.0\.1:\d+\/u\/[\w.-]+>$/)
    const both = { 'List-Unsubscribe': link, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
    const cases: [Body, object][] = [
      [{}, {}],
      [{ stream: 'broadcast' }, both],
      [{ stream: 'broadcast', to: ['a@example.com', 'b@example.com'] }, {}],
      [{ stream: 'broadcast', cc: ['b@example.com'] }, {}],
      [{ stream: 'broadcast', bcc: ['b@example.com'] }, {}],
      [{ stream: 'broadcast', headers: { 'list-unsubscribe-POST': 'mine' } }, both],
      [{ stream: 'broadcast', headers: { 'list-unsubscribe': ' ' } }, both],
    ]
    for (const [more, headers] of cases) {
      expect(headersOf((await handedTo(acme, more)).headers), JSON.stringify(more)).toEqual(headers)
    }
  })

  test('S-087 a List-Unsubscribe header of the request is sent unchanged and does not make the message a broadcast', async () => {
    const headers = { 'list-unsubscribe': '"Off" <mailto:off@example.com?subject="off">' }
    for (const stream of ['transactional', 'broadcast']) {
      const kept = await handedTo(acme, { stream, headers })
      expect(kept.headers).toEqual(headers)
      const lines = kept.raw?.split('\r\n').filter((line) => /unsubscribe/i.test(line))
      expect(lines).toEqual([`list-unsubscribe: ${headers['list-unsubscribe']}`])
      expect((await acme.get(kept.message_id as string)).body).toMatchObject({ stream, headers })
    }
    await acme.suppress('left@example.com', 'unsubscribe')
    expect((await acme.send(mail({ to: ['left@example.com'], headers }))).status).toBe(200)
  })

  test('S-093 S-095 X-220 X-221 the unsubscribe_url placeholder requires a broadcast with a single recipient', async () => {
    const content = [{ html: '<a href="{{unsubscribe_url}}">' }, { text: '{{ unsubscribe_url }}' }]
    for (const part of content) {
      expectRefusal(await leavesNoTrace(() => acme.send(mail(part))), 'UNSUBSCRIBE_REQUIRES_BROADCAST')
      for (const more of [{ to: ['a@b.test', 'c@d.test'] }, { cc: ['c@d.test'] }, { bcc: ['c@d.test'] }]) {
        const body = mail({ ...part, ...more, stream: 'broadcast' })
        expectRefusal(await leavesNoTrace(() => acme.send(body)), 'UNSUBSCRIBE_MULTI_RECIPIENT')
      }
    }
  })

  test('SD-34 the placeholder is filled in text of the request used with a template, and not in values of variables', async () => {
    const own = await mailer(t)
    const made = await t.ask('POST', '/api/v1/templates', {
      key: own.live,
      body: {
        slug: 'news',
        channel: 'email',
        subject: '{{n}} {{unsubscribe_url}}',
        html: '<p>{{n}}{ { {{o}} } }</p>',
        text: '{{n}} {{ {{o}} }}: {{ unsubscribe_url }}',
      },
    })
    expect(made.status).toBe(201)
    const variables = { n: '{{unsubscribe_url}}', o: 'unsubscribe_url' }
    const plain = { subject: undefined, html: undefined, text: 'given', template: 'news', variables }
    expect((await handedTo(own, plain)).html).toBe('<p>{{unsubscribe_url}}{ { unsubscribe_url } }</p>')
    const kept = await handedTo(own, { ...plain, text: undefined, stream: 'broadcast' })
    expect(kept.subject).toBe('{{unsubscribe_url}} {{unsubscribe_url}}')
    expect(kept.text).toMatch(/^\{\{unsubscribe_url}} \{\{ unsubscribe_url }}: http:\S+\/u\/[\w.-]+$/)
    const given = await handedTo(own, { ...plain, text: '{{ unsubscribe_url }}', stream: 'broadcast' })
    expect(given.text).toMatch(/^http:\S+\/u\/[\w.-]+$/)
  })

  test('S-094 S-096 SD-34 following the unsubscribe link blocks broadcasts to that recipient and nothing else', async () => {
    const own = await mailer(t)
    const kept = await handedTo(own, {
      to: ['Lea <Lea@example.com>'],
      stream: 'broadcast',
      track_clicks: true,
      html: '<a href="{{unsubscribe_url}}">off</a>',
      text: 'off: {{ unsubscribe_url }}',
      variables: { unsubscribe_url: 'https://elsewhere.test/' },
    })
    const link = /^off: (http:\/\/127\.0\.0\.1:\d+)(\/u\/[\w.-]+)$/.exec(kept.text ?? '')
    expect(kept.html).toContain(`<a href="${link?.[1]}${link?.[2]}">`)
    const left = await t.ask('POST', link?.[2] as string, {
      raw: 'List-Unsubscribe=One-Click',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(left.status).toBe(200)
    const again = (stream: string) => own.send(mail({ to: ['lea@example.com'], stream }))
    expectRefusal(await again('broadcast'), 'ALL_SUPPRESSED')
    expect((await again('transactional')).status).toBe(200)
    expect((await own.send(mail({ to: ['other@example.com'], stream: 'broadcast' }))).status).toBe(200)
  })
})

describe('the sender', () => {
  const addDomain = async (more: Record<string, unknown> = {}) => {
    const id = newId('domain')
    const [project] = await t.database.sql<{ id: string }>('select id from projects where org_id = $1 limit 1', [
      acme.orgId,
    ])
    const row = { status: 'verified', tenant_id: null, project_id: project?.id, ip_pool_id: null, ...more }
    await t.database.sql(
      `insert into domains (org_id, id, project_id, tenant_id, ip_pool_id, name, status, dkim_status, region, created_environment, created_at, updated_at)
       values ($1, $2, $3, $4, $5, $6, $7, 'SUCCESS', 'us-east-1', 'live', $8, $8)`,
      [
        acme.orgId,
        id,
        row.project_id,
        row.tenant_id,
        row.ip_pool_id,
        `${id.replace('_', '-')}.test`,
        row.status,
        t.service.clock.now(),
      ],
    )
    return { id, from: `x@${id.replace('_', '-')}.test` }
  }

  test('S-097 X-192 a live send requires a verified domain of the org, and a test key may use any domain', async () => {
    const other = await mailer(t)
    const pending = await addDomain({ status: 'pending' })
    for (const from of ['x@nobodys.example', pending.from, 'x@mail.example.test', other.sandbox]) {
      const reply = await leavesNoTrace(() => acme.send(mail({ from })))
      expectRefusal(reply, 'SENDER_DOMAIN_NOT_VERIFIED', {}, from)
      expect((await acme.send(mail({ from }), { key: acme.test })).status).toBe(200)
    }
    expect((await acme.send(mail({ from: 'X@EXAMPLE.test' }))).status).toBe(200)
  })

  test('X-185 X-186 XD-18 a key can only use domains of its tenant, its domain list and its project', async () => {
    const [tenantId, otherTenantId] = [await t.tenant(acme.orgId), await t.tenant(acme.orgId)]
    const ofOtherTenant = await addDomain({ tenant_id: otherTenantId })
    const key = await t.key(acme.orgId, { tenantId })
    const mismatch = await leavesNoTrace(() => acme.send(mail({ from: ofOtherTenant.from }), { key }))
    expectRefusal(mismatch, 'DOMAIN_TENANT_MISMATCH')
    expect((await acme.send(mail(), { key })).status).toBe(200)
    const one = await addDomain()
    for (const environment of ['live', 'test'] as const) {
      const restricted = await t.key(acme.orgId, { allowedDomainIds: [one.id], environment })
      const refused = await leavesNoTrace(() => acme.send(mail(), { key: restricted }))
      expectRefusal(refused, 'DOMAIN_NOT_ALLOWED_FOR_KEY')
      expect((await acme.send(mail({ from: one.from }), { key: restricted })).status).toBe(200)
    }
    const made = await t.ask('POST', '/api/v1/projects', { key: acme.live, body: { name: 'Shop' } })
    const bound = await t.key(acme.orgId, { projectId: made.body.id })
    const ofProject = await addDomain({ project_id: made.body.id })
    expectRefusal(await leavesNoTrace(() => acme.send(mail(), { key: bound })), 'DOMAIN_NOT_ALLOWED_FOR_KEY')
    const inside = await acme.send(mail({ from: ofProject.from }), { key: bound })
    const outside = await acme.send(mail())
    expect([inside.status, (await acme.get(inside.body.id, bound)).status]).toEqual([200, 200])
    expect((await acme.get(outside.body.id, bound)).status).toBe(404)
    const listed = (await acme.list('', bound)).body.data.map(({ id }: { id: string }) => id)
    expect(listed).toEqual([inside.body.id])
  })

  test('X-264 X-317 XD-21 a domain with a paused IP pool cannot send live mail until the pool is resumed', async () => {
    const pools = '/api/v1/ip-pools'
    const pool = (await t.ask('POST', pools, { key: acme.live, body: { name: 'own' } })).body
    const { from } = await addDomain({ ip_pool_id: pool.id })
    const pause = (paused: boolean) => t.ask('PATCH', `${pools}/${pool.id}`, { key: acme.live, body: { paused } })
    expect((await acme.send(mail({ from }))).status).toBe(200)
    await pause(true)
    expectRefusal(await leavesNoTrace(() => acme.send(mail({ from }))), 'IP_POOL_PAUSED')
    expect((await acme.send(mail({ from }), { key: acme.test })).status).toBe(200)
    const batch = await acme.batch([mail({ from }), mail()])
    expect(batch.body.data.map(({ error }: { error: Body | null }) => error?.code)).toEqual([
      'IP_POOL_PAUSED',
      undefined,
    ])
    await pause(false)
    expect((await acme.send(mail({ from }))).status).toBe(200)
  })

  test('X-281 X-316 XD-20 a domain in warmup sends up to its daily cap, and a message beyond it is rejected as a whole', async () => {
    const { id, from } = await addDomain()
    const warmup = await t.ask('POST', `/api/v1/domains/${id}/warmup`, { key: acme.live, body: { days: 1 } })
    expect(warmup.body.warmup.daily_cap).toBe(50)
    const to = (count: number) => Array.from({ length: count }, (_, i) => `w${i}@example.com`)
    expect((await acme.send(mail({ from, to: to(30), cc: to(49).slice(30) }))).status).toBe(200)
    const over = await leavesNoTrace(() => acme.send(mail({ from, to: to(2) })))
    expectRefusal(over, 'WARMUP_LIMIT_EXCEEDED')
    const midnight = 86_400 - (Math.floor(t.service.clock.millis() / 1000) % 86_400)
    expect(Math.abs(Number(over.headers['retry-after']) - midnight)).toBeLessThan(30)
    const items = await acme.batch([mail({ from, to: to(2) }), mail({ from })])
    expect(items.body).toMatchObject({ succeeded: 1, failed: 1 })
    expect(items.body.data[0].error.code).toBe('WARMUP_LIMIT_EXCEEDED')
    expect((await acme.send(mail({ from: 'x@example.test', to: to(2) }))).status).toBe(200)
    await advance(t, 86_400)
    expect((await acme.send(mail({ from, to: to(50), cc: ['more@example.com'] }))).status).toBe(200)
  })
})
