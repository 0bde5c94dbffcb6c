/** Misbehaving receivers and crashed workers: no delivery is lost, and none is signed with the wrong secret. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { hexHmac, startWebhookService, type WebhookClient, webhookClient } from '../../test/clients/webhook-client.ts'
import { type Receiver, startRaw, startReceiver } from '../../test/servers/receiver.ts'
import { newId } from '../platform/ground/ids.ts'
import { makeGuardedAgent } from '../platform/outgoing/guarded.ts'
import { leaseQueues } from './store/delivery-leases.ts'

/** URLs of receivers that never answer in time. Their requests time out after a second instead of ten. */
const slowUrls = new Set<string>()

/** The real agent. All other requests wait as long as a test runs, because the machine may be busy. */
const patientAgent = (): ReturnType<typeof makeGuardedAgent> => {
  const agent = makeGuardedAgent({ allowInsecure: true })
  return {
    ...agent,
    request: (url, options) => {
      expect([options.timeoutMs, options.maxBytes]).toEqual([10_000, 1_024])
      return agent.request(url, { ...options, timeoutMs: slowUrls.has(String(url)) ? 1_000 : 120_000 })
    },
  }
}

const t = await startWebhookService({ agent: patientAgent() })
afterAll(() => t.stop())
const newClient = async () => webhookClient(t, await t.org())

const stoppedAfterTest = async (starting: Promise<Receiver>): Promise<Receiver> => {
  const receiver = await starting
  onTestFinished(() => receiver.stop())
  return receiver
}
const raw = (serve: (socket: Socket) => void) => stoppedAfterTest(startRaw(serve))

/** Makes one attempt at an endpoint with this URL and returns its record. A healthy endpoint must not be affected. */
const attemptAt = async (acme: WebhookClient, url: string) => {
  const { id } = (await acme.create({ url })).body
  const healthy = await acme.made()
  await acme.emit()
  await acme.run()
  expect(healthy.receiver.got).toHaveLength(1)
  const [row] = (await acme.deliveries(id)).body.data
  await acme.remove(id)
  await acme.remove(healthy.id)
  return [row.status, row.attempts[0].error, row.attempts[0].response_status, row.attempts.length]
}

const drip = (socket: Socket, text: () => string): void => {
  const timer = setInterval(() => socket.write(text()), 5)
  socket.on('close', () => clearInterval(timer))
}
const flood = (socket: Socket, text: string): void => {
  const write = () => {
    while (!socket.destroyed && socket.write(text));
  }
  socket.on('drain', write)
  write()
}
const ok = 'HTTP/1.1 200 OK\r\n'

describe('receivers', () => {
  test('X-149 XD-13 a receiver that hangs or sends too slowly causes a timeout, which is a failed attempt', async () => {
    const acme = await newClient()
    const receivers = [
      await raw(() => undefined),
      await raw((socket) => drip(socket, () => 'H')),
      await raw((socket) => {
        socket.write(ok)
        drip(socket, () => 'x: y\r\n')
      }),
      await raw((socket) => {
        socket.write(`${ok}content-length: 1000\r\n\r\n`)
        drip(socket, () => '.')
      }),
    ]
    for (const { url } of receivers) slowUrls.add(url)
    for (const { url } of receivers.slice(0, 1)) {
      expect(await attemptAt(acme, url)).toEqual(['pending', 'timeout', null, 1])
    }
    // Slow headers end in a timeout or in a parse error. Both are failed attempts.
    for (const { url } of receivers.slice(1)) {
      const [status, error] = await attemptAt(acme, url)
      expect([status, ['timeout', 'connection'].includes(error)]).toEqual(['pending', true])
    }
  })

  test('X-154 XD-13 an endless response body counts as a response, and its first 1 KB is kept', async () => {
    const acme = await newClient()
    const endless = await raw((socket) => {
      socket.write(`${ok}\r\n`)
      flood(socket, 'z'.repeat(65_536))
    })
    expect(await attemptAt(acme, endless.url)).toEqual(['delivered', null, 200, 1])
    const refusing = await raw((socket) => {
      socket.write('HTTP/1.1 500 No\r\n\r\n')
      flood(socket, 'z'.repeat(65_536))
    })
    expect(await attemptAt(acme, refusing.url)).toEqual(['pending', null, 500, 1])
  })

  test('XD-13 endless headers, resets, partial responses and invalid HTTP are connection errors', async () => {
    const acme = await newClient()
    const receivers = [
      await raw((socket) => {
        socket.write(ok)
        flood(socket, `x: ${'h'.repeat(8_000)}\r\n`)
      }),
      await raw((socket) => socket.on('data', () => socket.resetAndDestroy())),
      await raw((socket) => socket.end()),
      await raw((socket) => socket.on('data', () => socket.end(`${ok}content-length: 9\r\n\r\nabc`))),
      await raw((socket) => socket.on('data', () => socket.write('SSH-2.0-OpenSSH_9\r\n\r\n'))),
    ]
    for (const { url } of receivers) {
      expect(await attemptAt(acme, url), url).toEqual(['pending', 'connection', null, 1])
    }
  })

  test('XD-13 invalid TLS is a TLS error', async () => {
    const acme = await newClient()
    const plaintext = await stoppedAfterTest(startReceiver())
    const selfSigned = await stoppedAfterTest(startReceiver(undefined, { secure: true }))
    const closing = await raw((socket) => socket.on('data', () => socket.end()))
    for (const { port } of [plaintext, selfSigned, closing]) {
      const url = `https://127.0.0.1:${port}/hook`
      expect(await attemptAt(acme, url), url).toEqual(['pending', 'tls', null, 1])
    }
    expect([plaintext.got, selfSigned.got]).toEqual([[], []])
  })

  test('X-146 XD-13 a redirect fails the attempt and is not followed', async () => {
    const acme = await newClient()
    const trap = await stoppedAfterTest(startReceiver())
    for (const location of [trap.url, 'http://169.254.169.254/latest/meta-data/', 'http://[fd00:ec2::254]/', '//x']) {
      const redirecting = await stoppedAfterTest(
        startReceiver((_, response) => response.writeHead(307, { location }).end()),
      )
      expect(await attemptAt(acme, redirecting.url)).toEqual(['pending', null, 307, 1])
    }
    expect(trap.connections()).toBe(0)
  })
})

describe('workers', () => {
  test('X-145 an attempt that a dead worker did not record is repeated under the same id', async () => {
    const acme = await newClient()
    const { id, receiver } = await acme.made()
    await acme.emit()
    await t.service.tasks.webhooks?.run()
    expect(receiver.got).toHaveLength(1)
    // The state after a crash: the attempt is not recorded, and a lease of the dead worker remains.
    const deadWorker = 'dead worker'
    await t.database.sql(
      `update webhook_deliveries set status = 'pending', attempt_count = 0, attempts = '[]', delivered_at = null,
         next_attempt_at = created_at where endpoint_id = $1`,
      [id],
    )
    await t.database.sql('update webhook_lanes set due_at = $2 where endpoint_id = $1', [id, t.service.clock.now()])
    const now = t.service.clock.now()
    const until = new Date(now.getTime() + 60_000)
    const leased = await t.service.db.rows(leaseQueues, {
      worker: deadWorker,
      at: now,
      until,
      limit: 100,
      releasing: [],
    })
    expect(leased).toContainEqual({ org_id: acme.orgId, endpoint_id: id })

    expect((await acme.run()).attempts).toBe(0)
    await acme.advance(61)
    expect((await acme.run()).attempts).toBe(1)
    const ids = receiver.got.map(({ body }) => body.delivery_id)
    expect([ids.length, new Set(ids).size]).toEqual([2, 1])
    expect(receiver.got[1]?.text).toBe(receiver.got[0]?.text)
    const [row] = (await acme.deliveries(id)).body.data
    expect([row.status, row.attempt_count]).toEqual(['delivered', 1])
  })

  test('X-145 a worker that lost its lease does not overwrite the record of the next worker', async () => {
    const acme = await newClient()
    const pendingResponses: (() => void)[] = []
    const { id, receiver } = await acme.made({}, (_, response, nth) => {
      if (nth === 1) pendingResponses.push(() => response.writeHead(500).end())
      else response.writeHead(201).end()
    })
    await acme.emit()
    const first = acme.run()
    await expect.poll(() => receiver.got.length).toBe(1)
    const second = await startWebhookService({ database: t.database, agent: patientAgent() })
    // The lease has expired: another worker leases the queue, delivers and records. The name of the holder changes,
    // because the first worker may be about to renew the lease that it holds.
    await t.database.sql(
      "update webhook_lanes set lease = 'lost', leased_until = '2020-01-01' where endpoint_id = $1",
      [id],
    )
    await second.service.tasks.webhooks?.run()
    expect(receiver.got).toHaveLength(2)
    pendingResponses[0]?.()
    await first
    await second.stop()
    const [row] = (await acme.deliveries(id)).body.data
    expect(row).toMatchObject({ status: 'delivered', attempt_count: 1, attempts: [{ response_status: 201 }] })
  })

  test('X-145 a worker that lost its lease before the response arrived records nothing', async () => {
    const acme = await newClient()
    const pendingResponses: (() => void)[] = []
    const { id, receiver } = await acme.made({}, (_, response, nth) => {
      if (nth === 1) pendingResponses.push(() => response.end())
      else response.end()
    })
    await acme.emit()
    const running = acme.run()
    await expect.poll(() => receiver.got.length).toBe(1)
    const until = new Date(t.service.clock.millis() + 60_000)
    await t.database.sql("update webhook_lanes set lease = 'another', leased_until = $2 where endpoint_id = $1", [
      id,
      until,
    ])
    pendingResponses[0]?.()
    await running
    expect((await acme.deliveries(id)).body.data).toMatchObject([{ status: 'pending', attempt_count: 0, attempts: [] }])
    await acme.advance(61)
    await acme.run()
    expect((await acme.deliveries(id)).body.data).toMatchObject([{ status: 'delivered', attempt_count: 1 }])
    expect(new Set(receiver.got.map(({ body }) => body.delivery_id)).size).toBe(1)
  })

  test('X-145 a crash during fan-out leaves the event or its deliveries, never both and never neither', async () => {
    const acme = await newClient()
    const { receiver } = await acme.made()
    await acme.emit()
    // PostgreSQL rolls the statement back when the connection of the worker is lost.
    const client = await t.service.db.connect()
    await client.query('begin')
    await client.query('delete from events where org_id = $1', [acme.orgId])
    expect(await acme.run()).toMatchObject({ events: 0, deliveries: 0 })
    const ended = once(client, 'end')
    await client.end()
    await ended
    expect(await acme.run()).toMatchObject({ events: 1, deliveries: 1, attempts: 1 })
    expect(receiver.got).toHaveLength(1)
  })

  test('XD-13 a delivery that was inserted while its endpoint was being disabled is canceled, not sent', async () => {
    const acme = await newClient()
    const { id, receiver } = await acme.made({}, (_, response) => response.writeHead(500).end())
    await acme.emit()
    await acme.run()
    await t.database.sql('update webhook_endpoints set enabled = false where id = $1', [id])
    await acme.advance(200)
    await acme.run()
    expect(receiver.got).toHaveLength(1)
    expect((await acme.deliveries(id)).body.data).toMatchObject([{ status: 'canceled', attempt_count: 1 }])
  })
})

test('X-145 no delivery is lost when all database connections are cut', async () => {
  const own = await startWebhookService({ agent: patientAgent() })
  const acme = webhookClient(own, await own.org())
  const endpoints = await Promise.all(Array.from({ length: 4 }, () => acme.made()))
  await own.service.startWorker()
  const messageIds = Array.from({ length: 60 }, (_, i) => `msg_${i}`)
  for (const [i, message_id] of messageIds.entries()) {
    await own.database.sql(
      `insert into events (org_id, id, environment, event, data, created_at)
       values ($1, $2, 'live', 'message.sent', $3, $4)`,
      [acme.orgId, newId('event'), { message_id }, own.service.clock.now()],
    )
    if (i % 20 !== 10) continue
    // Ends every connection of the service at once, like a restart of the server.
    await own.database.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'tidings' and datname = current_database()`,
    )
  }
  const receivedCounts = () =>
    endpoints.map(({ receiver }) => new Set(receiver.got.map(({ body }) => body.data.message_id)).size)
  const progress = async (): Promise<string> => {
    const states = await own.database.sql(
      `select (select count(*) from events), status, count(*), sum(attempt_count) from webhook_deliveries group by 2`,
    )
    return JSON.stringify([receivedCounts(), states])
  }
  let [known, idlePolls] = ['', 0]
  await expect
    .poll(
      async () => {
        const found = await progress()
        idlePolls = found === known ? idlePolls + 1 : 0
        known = found
        // Unrecorded deliveries wait until the lease of their queue expires. While attempts are in progress the clock
        // must not move, because they would lose their leases and be repeated without end.
        if (idlePolls === 5) {
          await acme.advance(61).catch(() => undefined)
          idlePolls = 0
        }
        return own.database.sql(
          `select status, count(*)::int from webhook_deliveries group by 1
           union all select 'events', count(*)::int from events`,
        )
      },
      { timeout: 100_000, interval: 100 },
    )
    .toEqual([
      { status: 'delivered', count: 240 },
      { status: 'events', count: 0 },
    ])
  expect(receivedCounts()).toEqual([60, 60, 60, 60])
  for (const { receiver } of endpoints) {
    const byId = Map.groupBy(receiver.got, ({ body }) => body.delivery_id)
    expect(byId.size).toBe(60)
    for (const same of byId.values()) expect(new Set(same.map(({ text }) => text)).size).toBe(1)
  }
  await own.stop()
})

test('endpoint queues are leased in turns over the orgs, so that an org with many does not starve the others', async () => {
  const own = await startWebhookService()
  const [many, few] = [webhookClient(own, await own.org()), webhookClient(own, await own.org())]
  const url = 'http://127.0.0.1:59999/'
  for (let i = 0; i < 8; i++) await many.create({ url })
  for (let i = 0; i < 2; i++) await few.create({ url })
  const now = own.service.clock.now()
  // The org with many queues has waited longer.
  await own.database.sql(
    `update webhook_lanes
     set due_at = $1::timestamptz - (case org_id when $2 then interval '1 hour' else interval '1 s' end)`,
    [now, many.orgId],
  )
  const leased = await own.service.db.rows(leaseQueues, {
    worker: 'a',
    at: now,
    until: new Date(now.getTime() + 60_000),
    limit: 4,
    releasing: [],
  })
  expect(leased.map(({ org_id }) => org_id).toSorted()).toEqual(
    [many.orgId, many.orgId, few.orgId, few.orgId].toSorted(),
  )
  // A leased queue cannot be leased by another worker until the lease expires.
  const rest = await own.service.db.rows(leaseQueues, {
    worker: 'b',
    at: now,
    until: new Date(now.getTime() + 60_000),
    limit: 100,
    releasing: [],
  })
  expect(rest).toHaveLength(6)
  const later = new Date(now.getTime() + 60_000)
  expect(
    await own.service.db.rows(leaseQueues, { worker: 'c', at: later, until: later, limit: 100, releasing: [] }),
  ).toHaveLength(10)
  await own.stop()
})

test('a secret that was copied to another endpoint cannot be decrypted, and nothing is sent with it', async () => {
  const acme = await newClient()
  const [one, two] = [await acme.made(), await acme.made()]
  const [original] = await t.database.sql<{ secret: string }>('select secret from webhook_endpoints where id = $1', [
    one.id,
  ])
  await t.database.sql(
    'update webhook_endpoints set secret = (select secret from webhook_endpoints where id = $2) where id = $1',
    [one.id, two.id],
  )
  await acme.emit()
  await acme.run()
  expect(one.receiver.got).toEqual([])
  expect((await acme.testFire(one.id)).status).toBe(500)
  expect(one.receiver.got).toEqual([])
  // With its own secret restored, the delivery is sent once the lease expires. The other endpoint was not delayed.
  await t.database.sql('update webhook_endpoints set secret = $2 where id = $1', [one.id, original?.secret])
  await acme.advance(61)
  await acme.run()
  for (const { secret, receiver } of [one, two]) {
    expect(receiver.got).toHaveLength(1)
    expect(receiver.got[0]?.headers['x-service-signature']).toBe(hexHmac(secret, receiver.got[0]?.text ?? ''))
  }
})

test('A-365 AD-176 delivered rows are deleted after 30 days, failed ones after 90, pending ones never', async () => {
  const own = await startWebhookService()
  const acme = webhookClient(own, await own.org())
  const { id } = await acme.made()
  await own.service.startWorker()
  for (let i = 0; i < 4; i++) await acme.emit({ data: { message_id: `msg_${i}` } })
  await expect.poll(async () => (await acme.deliveries(id, '?status=delivered')).body.data.length).toBe(4)
  // The partitions of the coming months exist, so that the default partition is empty.
  expect(await own.database.sql('select 1 from webhook_deliveries_other')).toEqual([])
  await own.database.sql(
    `update webhook_deliveries d
     set status = (array['delivered', 'failed', 'canceled', 'pending'])[n.n], next_attempt_at = '2090-01-01'
     from (select id, row_number() over (order by id) as n from webhook_deliveries) n where n.id = d.id`,
  )
  const statusesAfter = async (days: number) => {
    await acme.advance(days * 86_400)
    await own.service.tasks.retention?.run()
    const rows = (await acme.deliveries(id)).body.data as { status: string }[]
    return rows.map(({ status }) => status).toSorted()
  }
  expect(await statusesAfter(29.9)).toEqual(['canceled', 'delivered', 'failed', 'pending'])
  expect(await statusesAfter(0.2)).toEqual(['canceled', 'failed', 'pending'])
  expect(await statusesAfter(59.8)).toEqual(['canceled', 'failed', 'pending'])
  expect(await statusesAfter(0.2)).toEqual(['pending'])
  await own.stop()
})
