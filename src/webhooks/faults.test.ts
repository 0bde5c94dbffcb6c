/** Receivers at their worst, and workers that die half way: nothing is lost, and nothing goes out under a wrong name. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { hexHmac, startWebhookService, type WebhookClient, webhookClient } from '../../test/clients/webhook-client.ts'
import { type Receiver, startRaw, startReceiver } from '../../test/servers/receiver.ts'
import { newId } from '../ground/ids.ts'
import { makeGuardedAgent } from '../outgoing/guarded.ts'
import { leaseLanes } from './store/delivery-leases.ts'

const impatient = (): ReturnType<typeof makeGuardedAgent> => {
  // Ten seconds are long for a test: the same agent, in a tenth of them.
  const agent = makeGuardedAgent({ allowInsecure: true })
  return {
    ...agent,
    request: (url, ask) => {
      expect([ask.timeoutMs, ask.maxBytes]).toEqual([10_000, 1_024])
      return agent.request(url, { ...ask, timeoutMs: 1_000 })
    },
  }
}

const t = await startWebhookService({ agent: impatient() })
afterAll(() => t.stop())
const fresh = async () => webhookClient(t, await t.org())

const kept = async (starting: Promise<Receiver>): Promise<Receiver> => {
  const receiver = await starting
  onTestFinished(() => receiver.stop())
  return receiver
}
const raw = (serve: (socket: Socket) => void) => kept(startRaw(serve))

/** One attempt at an endpoint with that address; what was recorded of it. */
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
const pour = (socket: Socket, text: string): void => {
  const on = () => {
    while (!socket.destroyed && socket.write(text));
  }
  socket.on('drain', on)
  on()
}
const ok = 'HTTP/1.1 200 OK\r\n'

describe('receivers', () => {
  test('X-149 XD-13 who hangs or trickles is a timeout, and counts as a failed attempt', async () => {
    const acme = await fresh()
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
    for (const { url } of receivers.slice(0, 1)) {
      expect(await attemptAt(acme, url)).toEqual(['pending', 'timeout', null, 1])
    }
    // A dripping head is either out of time or no HTTP at all, and failed both ways.
    for (const { url } of receivers.slice(1)) {
      const [status, error] = await attemptAt(acme, url)
      expect([status, ['timeout', 'connection'].includes(error)]).toEqual(['pending', true])
    }
  })

  test('X-154 XD-13 an endless body is an answer all the same, and its first 1 KB is kept', async () => {
    const acme = await fresh()
    const endless = await raw((socket) => {
      socket.write(`${ok}\r\n`)
      pour(socket, 'z'.repeat(65_536))
    })
    expect(await attemptAt(acme, endless.url)).toEqual(['delivered', null, 200, 1])
    const refusing = await raw((socket) => {
      socket.write('HTTP/1.1 500 No\r\n\r\n')
      pour(socket, 'z'.repeat(65_536))
    })
    expect(await attemptAt(acme, refusing.url)).toEqual(['pending', null, 500, 1])
  })

  test('XD-13 endless headers, resets, half answers and nonsense are a bad connection', async () => {
    const acme = await fresh()
    const receivers = [
      await raw((socket) => {
        socket.write(ok)
        pour(socket, `x: ${'h'.repeat(8_000)}\r\n`)
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

  test('XD-13 bad TLS is told apart', async () => {
    const acme = await fresh()
    const plain = await kept(startReceiver())
    const unknown = await kept(startReceiver(undefined, { secure: true }))
    const closing = await raw((socket) => socket.on('data', () => socket.end()))
    for (const { port } of [plain, unknown, closing]) {
      const url = `https://127.0.0.1:${port}/hook`
      expect(await attemptAt(acme, url), url).toEqual(['pending', 'tls', null, 1])
    }
    expect([plain.got, unknown.got]).toEqual([[], []])
  })

  test('X-146 XD-13 a redirect is a failed attempt, wherever it leads, and is not followed', async () => {
    const acme = await fresh()
    const trap = await kept(startReceiver())
    for (const location of [trap.url, 'http://169.254.169.254/latest/meta-data/', 'http://[fd00:ec2::254]/', '//x']) {
      const redirecting = await kept(startReceiver((_, response) => response.writeHead(307, { location }).end()))
      expect(await attemptAt(acme, redirecting.url)).toEqual(['pending', null, 307, 1])
    }
    expect(trap.connections()).toBe(0)
  })
})

describe('workers that die', () => {
  test('X-145 one killed between the attempt and its record: the lane is taken up again once stale, under the same id', async () => {
    const acme = await fresh()
    const { id, receiver } = await acme.made()
    await acme.emit()
    await t.service.tasks.webhooks?.run()
    expect(receiver.got).toHaveLength(1)
    // As if the record had never been written by a worker that is gone, its lease still standing.
    const gone = 'a worker that is gone'
    await t.database.sql(
      `update webhook_deliveries set status = 'pending', attempt_count = 0, attempts = '[]', delivered_at = null,
         next_attempt_at = created_at where endpoint_id = $1`,
      [id],
    )
    await t.database.sql('update webhook_lanes set due_at = $2 where endpoint_id = $1', [id, t.service.clock.now()])
    const now = t.service.clock.now()
    const until = new Date(now.getTime() + 60_000)
    const leased = await t.service.db.rows(leaseLanes, { worker: gone, at: now, until, limit: 100 })
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

  test('X-145 one whose lease was taken over meanwhile records nothing over the other’s', async () => {
    const acme = await fresh()
    const answers: (() => void)[] = []
    const { id, receiver } = await acme.made({}, (_, response, nth) => {
      if (nth === 1) answers.push(() => response.writeHead(500).end())
      else response.writeHead(201).end()
    })
    await acme.emit()
    const first = acme.run()
    await expect.poll(() => receiver.got.length).toBe(1)
    // Another worker finds the lease run out, delivers and records.
    await t.database.sql("update webhook_lanes set leased_until = '2020-01-01' where endpoint_id = $1", [id])
    const second = await startWebhookService({ database: t.database })
    await second.service.tasks.webhooks?.run()
    expect(receiver.got).toHaveLength(2)
    answers[0]?.()
    await first
    await second.stop()
    const [row] = (await acme.deliveries(id)).body.data
    expect(row).toMatchObject({ status: 'delivered', attempt_count: 1, attempts: [{ response_status: 201 }] })
  })

  test('X-145 one whose lease is another’s by the time of the answer records nothing at all', async () => {
    const acme = await fresh()
    const answers: (() => void)[] = []
    const { id, receiver } = await acme.made({}, (_, response, nth) => {
      if (nth === 1) answers.push(() => response.end())
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
    answers[0]?.()
    await running
    expect((await acme.deliveries(id)).body.data).toMatchObject([{ status: 'pending', attempt_count: 0, attempts: [] }])
    await acme.advance(61)
    await acme.run()
    expect((await acme.deliveries(id)).body.data).toMatchObject([{ status: 'delivered', attempt_count: 1 }])
    expect(new Set(receiver.got.map(({ body }) => body.delivery_id)).size).toBe(1)
  })

  test('X-145 one that dies during fan-out leaves the event or the deliveries, never both and never neither', async () => {
    const acme = await fresh()
    const { receiver } = await acme.made()
    await acme.emit()
    // The statement of a worker whose connection is cut is undone whole.
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

  test('XD-13 a delivery that slipped in while its endpoint was being disabled is canceled, not sent', async () => {
    const acme = await fresh()
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

test('X-145 connections to the database cut while deliveries are under way lose nothing', async () => {
  const own = await startWebhookService()
  const acme = webhookClient(own, await own.org())
  const endpoints = await Promise.all(Array.from({ length: 4 }, () => acme.made()))
  await own.service.startWorker()
  const wanted = Array.from({ length: 60 }, (_, i) => `msg_${i}`)
  for (const [i, message_id] of wanted.entries()) {
    await own.database.sql(
      `insert into events (org_id, id, environment, event, data, created_at)
       values ($1, $2, 'live', 'message.sent', $3, $4)`,
      [acme.orgId, newId('event'), { message_id }, own.service.clock.now()],
    )
    if (i % 20 !== 10) continue
    // As a server that restarts would: every connection of the service ends at once.
    await own.database.sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tidings' and datname = current_database()",
    )
  }
  const seen = () => endpoints.map(({ receiver }) => new Set(receiver.got.map(({ body }) => body.data.message_id)).size)
  await expect
    .poll(
      async () => {
        // What could not be recorded waits for its lease to run out.
        await acme.advance(61).catch(() => undefined)
        return seen()
      },
      { timeout: 20_000, interval: 200 },
    )
    .toEqual([60, 60, 60, 60])
  await expect
    .poll(() => own.database.sql("select 1 from webhook_deliveries where status <> 'delivered'"), {
      timeout: 20_000,
    })
    .toEqual([])
  for (const { receiver } of endpoints) {
    const byId = Map.groupBy(receiver.got, ({ body }) => body.delivery_id)
    expect(byId.size).toBe(60)
    for (const same of byId.values()) expect(new Set(same.map(({ text }) => text)).size).toBe(1)
  }
  await own.stop()
})

test('lanes are leased by turns over orgs, so that the many of one never starve the few of another', async () => {
  const own = await startWebhookService()
  const [many, few] = [webhookClient(own, await own.org()), webhookClient(own, await own.org())]
  const url = 'http://127.0.0.1:59999/'
  for (let i = 0; i < 8; i++) await many.create({ url })
  for (let i = 0; i < 2; i++) await few.create({ url })
  const now = own.service.clock.now()
  // The many have waited for longer.
  await own.database.sql(
    "update webhook_lanes set due_at = $1::timestamptz - (case org_id when $2 then interval '1 hour' else interval '1 s' end)",
    [now, many.orgId],
  )
  const leased = await own.service.db.rows(leaseLanes, {
    worker: 'a',
    at: now,
    until: new Date(now.getTime() + 60_000),
    limit: 4,
  })
  expect(leased.map(({ org_id }) => org_id).toSorted()).toEqual(
    [many.orgId, many.orgId, few.orgId, few.orgId].toSorted(),
  )
  // What is leased is nobody else's until the lease runs out.
  const rest = await own.service.db.rows(leaseLanes, {
    worker: 'b',
    at: now,
    until: new Date(now.getTime() + 60_000),
    limit: 100,
  })
  expect(rest).toHaveLength(6)
  const later = new Date(now.getTime() + 60_000)
  expect(await own.service.db.rows(leaseLanes, { worker: 'c', at: later, until: later, limit: 100 })).toHaveLength(10)
  await own.stop()
})

test('nothing is sent under another endpoint’s secret: one moved to another row does not open, and nothing leaves', async () => {
  const acme = await fresh()
  const [one, two] = [await acme.made(), await acme.made()]
  const [kept] = await t.database.sql<{ secret: string }>('select secret from webhook_endpoints where id = $1', [
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
  // Put right again, what waited goes out once its lane is stale, and the neighbour was not held up.
  await t.database.sql('update webhook_endpoints set secret = $2 where id = $1', [one.id, kept?.secret])
  await acme.advance(61)
  await acme.run()
  for (const { secret, receiver } of [one, two]) {
    expect(receiver.got).toHaveLength(1)
    expect(receiver.got[0]?.headers['x-service-signature']).toBe(hexHmac(secret, receiver.got[0]?.text ?? ''))
  }
})

test('A-365 AD-176 what arrived goes after 30 days, what did not after 90, and what is under way stays', async () => {
  const own = await startWebhookService()
  const acme = webhookClient(own, await own.org())
  const { id } = await acme.made()
  await own.service.startWorker()
  for (let i = 0; i < 4; i++) await acme.emit({ data: { message_id: `msg_${i}` } })
  await expect.poll(async () => (await acme.deliveries(id, '?status=delivered')).body.data.length).toBe(4)
  // The months were made ahead, so that nothing stands in the default partition.
  expect(await own.database.sql('select 1 from webhook_deliveries_other')).toEqual([])
  await own.database.sql(
    `update webhook_deliveries d set status = (array['delivered', 'failed', 'canceled', 'pending'])[n.n], next_attempt_at = '2090-01-01'
     from (select id, row_number() over (order by id) as n from webhook_deliveries) n where n.id = d.id`,
  )
  const left = async (days: number) => {
    await acme.advance(days * 86_400)
    await own.service.tasks.retention?.run()
    const rows = (await acme.deliveries(id)).body.data as { status: string }[]
    return rows.map(({ status }) => status).toSorted()
  }
  expect(await left(29.9)).toEqual(['canceled', 'delivered', 'failed', 'pending'])
  expect(await left(0.2)).toEqual(['canceled', 'failed', 'pending'])
  expect(await left(59.8)).toEqual(['canceled', 'failed', 'pending'])
  expect(await left(0.2)).toEqual(['pending'])
  await own.stop()
})
