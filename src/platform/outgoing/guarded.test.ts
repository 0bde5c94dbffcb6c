import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { fairUrls, hostileUrls } from '../../../test/hostile/urls.ts'
import { startDns, type Zone } from '../../../test/servers/dns.ts'
import { startRaw, startReceiver, testCertificate } from '../../../test/servers/receiver.ts'
import { makeTestDatabase } from '../../../test/service/database.ts'
import { openDb } from '../db/pool.ts'
import { silentLog } from '../ground/log.ts'
import { mayDial } from './check-address.ts'
import type { OutgoingRequest } from './exchange.ts'
import { type GuardedAgentOptions, makeGuardedAgent } from './guarded.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})
const stopAfterTest = <T extends { stop(): Promise<unknown> }>(server: T): T => {
  cleanups.push(() => server.stop())
  return server
}

const dns = async (zone: Zone, ttl = 0) => stopAfterTest(await startDns(zone, ttl))

const agentOf = (options: Partial<GuardedAgentOptions> = {}) => {
  const agent = makeGuardedAgent({ allowInsecure: false, ...options })
  cleanups.push(() => agent.close())
  return agent
}

const post: OutgoingRequest = { method: 'POST', body: '{}', timeoutMs: 10_000, maxBytes: 1_024 }
const kindOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'answered',
    (error) => error.kind ?? String(error),
  )

describe('checking the text of a URL', () => {
  test('X-142 X-143 hostile URLs are rejected before any DNS query or connection', async () => {
    const queries: string[] = []
    const agent = agentOf({
      resolver: async (name) => {
        queries.push(name)
        return { addresses: ['8.8.8.8'], ttl: 0 }
      },
      dial: () => {
        throw new Error('dialed')
      },
    })
    expect(hostileUrls.length).toBeGreaterThanOrEqual(150)
    for (const [url, why] of hostileUrls) {
      expect(await kindOf(agent.check(url)), `${url}: ${why}`).toBe('url_not_allowed')
      expect(await kindOf(agent.request(url, post)), `${url}: ${why}`).toBe('url_not_allowed')
    }
    expect(queries).toEqual([])
  })

  test('X-142 legitimate URLs are accepted', () => {
    const agent = agentOf()
    for (const url of fairUrls) expect(() => agent.checkUrl(url), url).not.toThrow()
    expect(agent.checkUrl('https://Example.com./a?b#c').href).toBe('https://example.com/a?b')
  })

  test('XD-13 allowing insecure webhooks permits HTTP and private hosts, but not metadata addresses', () => {
    const agent = agentOf({ allowInsecure: true })
    for (const url of [
      'http://127.0.0.1:8080/',
      'http://localhost/',
      'https://10.0.0.1/',
      'http://[::1]:3000/',
      'http://printer.local:8080/',
      'https://db.internal/',
      'http://example.com/',
      'http://[fd00::1]:9000/',
    ]) {
      expect(() => agent.checkUrl(url), url).not.toThrow()
    }
    for (const url of [
      'http://169.254.169.254/',
      'https://[fd00:ec2::254]/',
      'http://[fe80::1]/',
      'http://0.0.0.0:8080/',
      'http://100.100.100.200/',
      'http://127.0.0.1:22/',
      'http://a:b@127.0.0.1/',
      'ftp://127.0.0.1/',
      'http://168.63.129.16/',
      'http://[::ffff:169.254.169.254]/',
      'http://224.0.0.1/',
      'http://127.0.0.1:81/',
    ]) {
      expect(() => agent.checkUrl(url), url).toThrow(expect.objectContaining({ kind: 'url_not_allowed' }))
    }
  })

  test('XD-13 text that is not an IP address is never dialed', () => {
    for (const text of ['', 'localhost', '1.2.3', '0x8.8.8.8', '08.8.8.8', 'fe80::1%eth0', '8.8.8.8 ']) {
      expect(mayDial(text, true), text).toBe(false)
    }
  })
})

describe('host names', () => {
  test('X-142 a name is rejected when any of its addresses is not allowed', async () => {
    const zone: Record<string, Partial<Record<'A' | 'AAAA', string[]>>> = {
      'public.example.com': { A: ['8.8.8.8'] },
      'private.example.com': { A: ['10.1.2.3'] },
      'loop.example.com': { A: ['127.0.0.1'] },
      'meta.example.com': { A: ['169.254.169.254'] },
      'six.example.com': { AAAA: ['::1'] },
      'mapped.example.com': { AAAA: ['::ffff:127.0.0.1'] },
      'nat.example.com': { AAAA: ['64:ff9b::a00:1'] },
      'mixed.example.com': { A: ['8.8.8.8', '192.168.0.7'] },
      'split.example.com': { A: ['8.8.8.8'], AAAA: ['fd00::1'] },
      'both.example.com': { A: ['8.8.8.8'], AAAA: ['2606:4700:4700::1111'] },
    }
    const { server } = await dns((name, type) => zone[name] && (zone[name][type] ?? []))
    const agent = agentOf({ dnsServers: [server] })
    const resultFor = (name: string) => kindOf(agent.check(`https://${name}/hook`))
    for (const name of ['public', 'both']) expect(await resultFor(`${name}.example.com`), name).toBe('answered')
    for (const name of ['private', 'loop', 'meta', 'six', 'mapped', 'nat', 'mixed', 'split']) {
      expect(await resultFor(`${name}.example.com`), name).toBe('url_not_allowed')
    }
    expect(await resultFor('nowhere.example.com')).toBe('dns')
    expect(await kindOf(agent.request('https://nowhere.example.com/', post))).toBe('dns')
  })

  test('XD-13 a name that changes to a private address after the check is never dialed there', async () => {
    const trap = stopAfterTest(await startReceiver())
    const receiver = stopAfterTest(await startReceiver(undefined, { secure: true }))
    // The first query returns a public address, every later one returns loopback.
    const { server, asked: queries } = await dns((_, type, nth) =>
      type === 'AAAA' ? [] : [nth === 1 ? '8.8.8.8' : '127.0.0.1'],
    )
    const dialed: string[] = []
    const agent = agentOf({
      dnsServers: [server],
      ca: testCertificate.cert,
      dial: (address) => {
        dialed.push(address)
        return { host: '127.0.0.1', port: address === '8.8.8.8' ? receiver.port : trap.port }
      },
    })
    const url = 'https://hooks.example.test:8443/hook'
    expect((await agent.request(url, post)).status).toBe(200)
    expect(queries.filter((line) => line.startsWith('A '))).toHaveLength(1)
    // An open connection leads to the address that was checked before, but the name is still checked again first.
    expect(await kindOf(agent.request(url, post))).toBe('url_not_allowed')
    expect(dialed).toEqual(['8.8.8.8'])
    expect([receiver.got.length, receiver.got[0]?.headers.host, trap.connections()]).toEqual([
      1,
      'hooks.example.test:8443',
      0,
    ])
  })

  test('XD-13 connections are reused per checked address, and DNS results are cached for their TTL', async () => {
    const receiver = stopAfterTest(await startReceiver(undefined, { secure: true }))
    const { server, asked: queries } = await dns((_, type) => (type === 'A' ? ['8.8.8.8'] : []), 60)
    const dialed: string[] = []
    const agent = agentOf({
      dnsServers: [server],
      ca: testCertificate.cert,
      dial: (address) => {
        dialed.push(address)
        return { host: '127.0.0.1', port: receiver.port }
      },
    })
    for (let i = 0; i < 3; i++) {
      await agent.request('https://hooks.example.test/hook', post)
      // The connection becomes free one event loop iteration after the response.
      await pause(2)
    }
    expect([dialed.length, receiver.connections(), queries.length]).toEqual([1, 1, 2])
    // Another name with the same address uses its own connection.
    await agent.request('https://second.example.test/hook', post)
    expect(dialed.length).toBe(2)
    expect(receiver.got.map(({ headers }) => headers.host)).toEqual([
      ...new Array(3).fill('hooks.example.test'),
      'second.example.test',
    ])
  })

  test('XD-13 when one address refuses the connection, the request is sent once, to the next address', async () => {
    const receiver = stopAfterTest(await startReceiver(undefined, { secure: true }))
    const { server } = await dns((_, type) => (type === 'A' ? ['8.8.8.8', '8.8.4.4'] : []), 60)
    const stopped = await startReceiver()
    await stopped.stop()
    const agent = agentOf({
      dnsServers: [server],
      ca: testCertificate.cert,
      dial: (address) => ({ host: '127.0.0.1', port: address === '8.8.4.4' ? receiver.port : stopped.port }),
    })
    expect((await agent.request('https://hooks.example.test/hook', post)).status).toBe(200)
    expect(receiver.got).toHaveLength(1)
  })

  test('XD-13 the timeout covers a DNS server that never responds', async () => {
    const { server } = await dns(() => new Promise(() => undefined))
    const agent = agentOf({ dnsServers: [server] })
    expect(await kindOf(agent.request('https://hooks.example.test/', { ...post, timeoutMs: 50 }))).toBe('timeout')
  })
})

describe('responses', () => {
  const insecureAgent = () => agentOf({ allowInsecure: true })

  test('X-146 XD-13 redirects are returned like any other status and are not followed', async () => {
    const trap = stopAfterTest(await startReceiver())
    const receiver = stopAfterTest(
      await startReceiver((_, response, nth) => {
        const locations = [trap.url, 'http://169.254.169.254/latest/meta-data/', '/elsewhere']
        response.writeHead([301, 302, 307][nth - 1] as number, { location: locations[nth - 1] }).end('moved')
      }),
    )
    const agent = insecureAgent()
    for (const status of [301, 302, 307]) {
      const response = await agent.request(receiver.url, post)
      expect([response.status, response.body.toString(), response.truncated]).toEqual([status, 'moved', false])
    }
    expect([receiver.got.length, trap.connections()]).toEqual([3, 0])
  })

  test('X-154 the body is cut at exactly the limit and the rest is not read', async () => {
    const receiver = stopAfterTest(
      await startReceiver((_, response, nth) => {
        if (nth <= 3) return response.end('x'.repeat(1_023 + nth - 1))
        response.writeHead(200)
        const writeForever = () => {
          while (!response.destroyed && response.write('y'.repeat(65_536)));
        }
        response.on('drain', writeForever)
        writeForever()
      }),
    )
    const agent = insecureAgent()
    for (const [length, truncated] of [
      [1_023, false],
      [1_024, false],
      [1_024, true],
      [1_024, true],
    ] as const) {
      const response = await agent.request(receiver.url, post)
      expect([response.body.length, response.truncated]).toEqual([length, truncated])
    }
  })

  test('XD-13 a body that never ends succeeds when its first 1 KB arrives in time', async () => {
    const receiver = stopAfterTest(
      await startReceiver((_, response) => void response.writeHead(200).write('z'.repeat(1_024))),
    )
    const response = await insecureAgent().request(receiver.url, { ...post, timeoutMs: 500 })
    expect([response.status, response.body.length, response.truncated]).toEqual([200, 1_024, true])
  })

  test('X-149 XD-13 a server that hangs, trickles or stops halfway is a timeout', async () => {
    const short = { ...post, timeoutMs: 300 }
    const cases = {
      silent: stopAfterTest(await startRaw(() => undefined)),
      'incomplete headers': stopAfterTest(await startRaw((socket) => socket.write('HTTP/1.1 200 OK\r\nX-A: '))),
      trickle: stopAfterTest(
        await startRaw((socket) => {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
          const drip = setInterval(() => socket.write('.'), 10)
          socket.on('close', () => clearInterval(drip))
        }),
      ),
      'trickling headers': stopAfterTest(
        await startRaw((socket) => {
          socket.write('HTTP/1.1 200 OK\r\n')
          let n = 0
          const drip = setInterval(() => socket.write(`x-${n++}: y\r\n`), 10)
          socket.on('close', () => clearInterval(drip))
        }),
      ),
      'only early hints': stopAfterTest(
        await startRaw((socket) => {
          const drip = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 10)
          socket.on('close', () => clearInterval(drip))
        }),
      ),
    }
    const agent = insecureAgent()
    for (const [name, { url }] of Object.entries(cases)) {
      expect(await kindOf(agent.request(url, short)), name).toBe('timeout')
    }
  })

  test('XD-13 a refused, reset, cut or malformed response is a connection error', async () => {
    const stopped = await startReceiver()
    await stopped.stop()
    const cases = {
      refused: stopped,
      reset: stopAfterTest(await startRaw((socket) => socket.on('data', () => socket.resetAndDestroy()))),
      closed: stopAfterTest(await startRaw((socket) => socket.on('data', () => socket.end()))),
      nonsense: stopAfterTest(await startRaw((socket) => socket.on('data', () => socket.write('hello?\r\n\r\n')))),
      cut: stopAfterTest(
        await startRaw((socket) =>
          socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc')),
        ),
      ),
      'endless headers': stopAfterTest(
        await startRaw((socket) => {
          socket.write('HTTP/1.1 200 OK\r\n')
          const writeForever = () => {
            while (!socket.destroyed && socket.write(`x-filler: ${'h'.repeat(8_000)}\r\n`));
          }
          socket.on('drain', writeForever)
          writeForever()
        }),
      ),
      upgrade: stopAfterTest(
        await startRaw((socket) =>
          socket.on('data', () =>
            socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
          ),
        ),
      ),
    }
    const agent = insecureAgent()
    for (const [name, { url }] of Object.entries(cases)) {
      expect(await kindOf(agent.request(url, post)), name).toBe('connection')
    }
  })

  test('XD-13 a missing or failed handshake, an untrusted certificate and a wrong name are TLS errors', async () => {
    const secure = stopAfterTest(await startReceiver(undefined, { secure: true }))
    const plain = stopAfterTest(await startReceiver())
    const closing = stopAfterTest(await startRaw((socket) => socket.on('data', () => socket.end())))
    const noise = stopAfterTest(await startRaw((socket) => socket.on('data', () => socket.write('not tls at all'))))
    const at = (port: number) => `https://127.0.0.1:${port}/hook`
    const agent = insecureAgent()
    for (const { port } of [secure, plain, closing, noise]) {
      expect(await kindOf(agent.request(at(port), post)), String(port)).toBe('tls')
    }
    const trusting = agentOf({ allowInsecure: true, ca: testCertificate.cert })
    expect((await trusting.request(at(secure.port), post)).status).toBe(200)
    const otherName = agentOf({
      allowInsecure: false,
      ca: testCertificate.cert,
      resolver: async () => ({ addresses: ['8.8.8.8'], ttl: 0 }),
      dial: () => ({ host: '127.0.0.1', port: secure.port }),
    })
    expect(await kindOf(otherName.request('https://other.example.test/', post))).toBe('tls')
    expect([secure.got.length, plain.got.length]).toEqual([1, 0])
  })

  test('an abort signal ends the request and closes the connection', async () => {
    const receiver = stopAfterTest(await startRaw(() => undefined))
    const stop = new AbortController()
    const request = insecureAgent().request(receiver.url, { ...post, signal: stop.signal })
    await expect.poll(() => receiver.connections()).toBe(1)
    stop.abort(new Error('aborted by the test'))
    await expect(request).rejects.toThrow('aborted by the test')
  })

  test('requests that hang do not delay other requests to the same server', async () => {
    const receiver = stopAfterTest(
      await startReceiver(({ path }, response) => {
        if (path === '/quick') response.end('here')
      }),
    )
    const agent = insecureAgent()
    const hung = Array.from({ length: 8 }, () => kindOf(agent.request(receiver.url, { ...post, timeoutMs: 2_000 })))
    const quick = await agent.request(receiver.url.replace('/hook', '/quick'), post)
    expect(quick.body.toString()).toBe('here')
    expect(new Set(await Promise.all(hung))).toEqual(new Set(['timeout']))
  })
})

test('requests and DNS queries are refused inside a database transaction', async () => {
  const database = await makeTestDatabase('empty')
  const db = openDb({ url: database.url, log: silentLog() })
  const receiver = stopAfterTest(await startReceiver())
  const agent = agentOf({ allowInsecure: true })
  await expect(db.tx(() => agent.request(receiver.url, post))).rejects.toThrow('inside a database transaction')
  await expect(db.tx(() => agent.check(receiver.url))).rejects.toThrow('inside a database transaction')
  expect(receiver.connections()).toBe(0)
  await db.close()
  await database.drop()
})
