import { setTimeout as turn } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { fairUrls, hostileUrls } from '../../test/hostile/urls.ts'
import { startDns, type Zone } from '../../test/servers/dns.ts'
import { startRaw, startReceiver, testCertificate } from '../../test/servers/receiver.ts'
import { makeTestDatabase } from '../../test/service/database.ts'
import { openDb } from '../db/pool.ts'
import { silentLog } from '../ground/log.ts'
import { type GuardedAgentOptions, makeGuardedAgent, type OutgoingRequest } from './guarded.ts'
import { mayDial } from './judge.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
const kept = <T extends { stop(): Promise<unknown> }>(thing: T): T => {
  ends.push(() => thing.stop())
  return thing
}

const dns = async (zone: Zone, ttl = 0) => kept(await startDns(zone, ttl))

const agentOf = (options: Partial<GuardedAgentOptions> = {}) => {
  const agent = makeGuardedAgent({ allowInsecure: false, ...options })
  ends.push(() => agent.close())
  return agent
}

const post: OutgoingRequest = { method: 'POST', body: '{}', timeoutMs: 10_000, maxBytes: 1_024 }
const kindOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'answered',
    (error) => error.kind ?? String(error),
  )

describe('the text of a URL', () => {
  test('X-142 X-143 hostile URLs are refused before anything is asked or dialled', async () => {
    const asked: string[] = []
    const agent = agentOf({
      resolver: async (name) => {
        asked.push(name)
        return { addresses: ['8.8.8.8'], ttl: 0 }
      },
      dial: () => {
        throw new Error('dialled')
      },
    })
    expect(hostileUrls.length).toBeGreaterThanOrEqual(150)
    for (const [url, why] of hostileUrls) {
      expect(await kindOf(agent.judge(url)), `${url}: ${why}`).toBe('url_not_allowed')
      expect(await kindOf(agent.request(url, post)), `${url}: ${why}`).toBe('url_not_allowed')
    }
    expect(asked).toEqual([])
  })

  test('X-142 honest URLs pass', () => {
    const agent = agentOf()
    for (const url of fairUrls) expect(() => agent.judgeUrl(url), url).not.toThrow()
    expect(agent.judgeUrl('https://Example.com./a?b#c').href).toBe('https://example.com/a?b')
  })

  test('XD-13 where insecure webhooks are allowed http and private hosts pass, and metadata stays closed', () => {
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
      expect(() => agent.judgeUrl(url), url).not.toThrow()
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
      expect(() => agent.judgeUrl(url), url).toThrow(expect.objectContaining({ kind: 'url_not_allowed' }))
    }
  })

  test('XD-13 an address that cannot be read is not dialled', () => {
    for (const text of ['', 'localhost', '1.2.3', '0x8.8.8.8', '08.8.8.8', 'fe80::1%eth0', '8.8.8.8 ']) {
      expect(mayDial(text, true), text).toBe(false)
    }
  })
})

describe('names', () => {
  test('X-142 a name is judged by what it resolves to, every address of it', async () => {
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
    const verdict = (name: string) => kindOf(agent.judge(`https://${name}/hook`))
    for (const name of ['public', 'both']) expect(await verdict(`${name}.example.com`), name).toBe('answered')
    for (const name of ['private', 'loop', 'meta', 'six', 'mapped', 'nat', 'mixed', 'split']) {
      expect(await verdict(`${name}.example.com`), name).toBe('url_not_allowed')
    }
    expect(await verdict('nowhere.example.com')).toBe('dns')
    expect(await kindOf(agent.request('https://nowhere.example.com/', post))).toBe('dns')
  })

  test('XD-13 a name that turns inward between two questions is never dialled there: the judged address is', async () => {
    const trap = kept(await startReceiver())
    const receiver = kept(await startReceiver(undefined, { secure: true }))
    // Public at the first question, loopback at every later one.
    const { server, asked } = await dns((_, type, nth) =>
      type === 'AAAA' ? [] : [nth === 1 ? '8.8.8.8' : '127.0.0.1'],
    )
    const dialled: string[] = []
    const agent = agentOf({
      dnsServers: [server],
      ca: testCertificate.cert,
      dial: (address) => {
        dialled.push(address)
        return { host: '127.0.0.1', port: address === '8.8.8.8' ? receiver.port : trap.port }
      },
    })
    const url = 'https://hooks.example.test:8443/hook'
    expect((await agent.request(url, post)).status).toBe(200)
    expect(asked.filter((line) => line.startsWith('A '))).toHaveLength(1)
    // The kept connection leads to the address judged before; the new judgement comes first all the same.
    expect(await kindOf(agent.request(url, post))).toBe('url_not_allowed')
    expect(dialled).toEqual(['8.8.8.8'])
    expect([receiver.got.length, receiver.got[0]?.headers.host, trap.connections()]).toEqual([
      1,
      'hooks.example.test:8443',
      0,
    ])
  })

  test('XD-13 connections are kept per judged address, and answers of the DNS for as long as they hold', async () => {
    const receiver = kept(await startReceiver(undefined, { secure: true }))
    const { server, asked } = await dns((_, type) => (type === 'A' ? ['8.8.8.8'] : []), 60)
    const dialled: string[] = []
    const agent = agentOf({
      dnsServers: [server],
      ca: testCertificate.cert,
      dial: (address) => {
        dialled.push(address)
        return { host: '127.0.0.1', port: receiver.port }
      },
    })
    for (let i = 0; i < 3; i++) {
      await agent.request('https://hooks.example.test/hook', post)
      // A connection is free again one turn of the event loop after its answer.
      await turn(2)
    }
    expect([dialled.length, receiver.connections(), asked.length]).toEqual([1, 1, 2])
    // Another name at the same address shares nothing with it.
    await agent.request('https://second.example.test/hook', post)
    expect(dialled.length).toBe(2)
    expect(receiver.got.map(({ headers }) => headers.host)).toEqual([
      ...new Array(3).fill('hooks.example.test'),
      'second.example.test',
    ])
  })

  test('XD-13 when one judged address refuses the next is tried, and the request is sent once', async () => {
    const receiver = kept(await startReceiver(undefined, { secure: true }))
    const { server } = await dns((_, type) => (type === 'A' ? ['8.8.8.8', '8.8.4.4'] : []), 60)
    const gone = await startReceiver()
    await gone.stop()
    const agent = agentOf({
      dnsServers: [server],
      ca: testCertificate.cert,
      dial: (address) => ({ host: '127.0.0.1', port: address === '8.8.4.4' ? receiver.port : gone.port }),
    })
    expect((await agent.request('https://hooks.example.test/hook', post)).status).toBe(200)
    expect(receiver.got).toHaveLength(1)
  })

  test('XD-13 a DNS server that never answers is part of the budget', async () => {
    const { server } = await dns(() => new Promise(() => undefined))
    const agent = agentOf({ dnsServers: [server] })
    expect(await kindOf(agent.request('https://hooks.example.test/', { ...post, timeoutMs: 50 }))).toBe('timeout')
  })
})

describe('answers', () => {
  const agent = () => agentOf({ allowInsecure: true })

  test('X-146 XD-13 any status is an answer and a redirect is not followed', async () => {
    const trap = kept(await startReceiver())
    const receiver = kept(
      await startReceiver((_, response, nth) => {
        const places = [trap.url, 'http://169.254.169.254/latest/meta-data/', '/elsewhere']
        response.writeHead([301, 302, 307][nth - 1] as number, { location: places[nth - 1] }).end('moved')
      }),
    )
    const asking = agent()
    for (const status of [301, 302, 307]) {
      const answer = await asking.request(receiver.url, post)
      expect([answer.status, answer.body.toString(), answer.truncated]).toEqual([status, 'moved', false])
    }
    expect([receiver.got.length, trap.connections()]).toEqual([3, 0])
  })

  test('X-154 the body is kept up to the bound, exactly, and the rest is not read', async () => {
    const receiver = kept(
      await startReceiver((_, response, nth) => {
        if (nth <= 3) return response.end('x'.repeat(1_023 + nth - 1))
        response.writeHead(200)
        const pour = () => {
          while (!response.destroyed && response.write('y'.repeat(65_536)));
        }
        response.on('drain', pour)
        pour()
      }),
    )
    const asking = agent()
    for (const [length, truncated] of [
      [1_023, false],
      [1_024, false],
      [1_024, true],
      [1_024, true],
    ] as const) {
      const answer = await asking.request(receiver.url, post)
      expect([answer.body.length, answer.truncated]).toEqual([length, truncated])
    }
  })

  test('XD-13 the first 1 KB in time is enough, though the body never ends', async () => {
    const receiver = kept(await startReceiver((_, response) => void response.writeHead(200).write('z'.repeat(1_024))))
    const answer = await agent().request(receiver.url, { ...post, timeoutMs: 500 })
    expect([answer.status, answer.body.length, answer.truncated]).toEqual([200, 1_024, true])
  })

  test('X-149 XD-13 who hangs, trickles or stops half way is out of time', async () => {
    const short = { ...post, timeoutMs: 300 }
    const cases = {
      silent: kept(await startRaw(() => undefined)),
      'half a head': kept(await startRaw((socket) => socket.write('HTTP/1.1 200 OK\r\nX-A: '))),
      trickle: kept(
        await startRaw((socket) => {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
          const drip = setInterval(() => socket.write('.'), 10)
          socket.on('close', () => clearInterval(drip))
        }),
      ),
      'trickling headers': kept(
        await startRaw((socket) => {
          socket.write('HTTP/1.1 200 OK\r\n')
          let n = 0
          const drip = setInterval(() => socket.write(`x-${n++}: y\r\n`), 10)
          socket.on('close', () => clearInterval(drip))
        }),
      ),
      'only early hints': kept(
        await startRaw((socket) => {
          const drip = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 10)
          socket.on('close', () => clearInterval(drip))
        }),
      ),
    }
    const asking = agent()
    for (const [name, { url }] of Object.entries(cases)) {
      expect(await kindOf(asking.request(url, short)), name).toBe('timeout')
    }
  })

  test('XD-13 who resets, refuses, talks nonsense or sends endless headers is a bad connection', async () => {
    const gone = await startReceiver()
    await gone.stop()
    const cases = {
      refused: gone,
      reset: kept(await startRaw((socket) => socket.on('data', () => socket.resetAndDestroy()))),
      closed: kept(await startRaw((socket) => socket.on('data', () => socket.end()))),
      nonsense: kept(await startRaw((socket) => socket.on('data', () => socket.write('hello?\r\n\r\n')))),
      cut: kept(
        await startRaw((socket) =>
          socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc')),
        ),
      ),
      'endless headers': kept(
        await startRaw((socket) => {
          socket.write('HTTP/1.1 200 OK\r\n')
          const pour = () => {
            while (!socket.destroyed && socket.write(`x-filler: ${'h'.repeat(8_000)}\r\n`));
          }
          socket.on('drain', pour)
          pour()
        }),
      ),
      upgrade: kept(
        await startRaw((socket) =>
          socket.on('data', () =>
            socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
          ),
        ),
      ),
    }
    const asking = agent()
    for (const [name, { url }] of Object.entries(cases)) {
      expect(await kindOf(asking.request(url, post)), name).toBe('connection')
    }
  })

  test('XD-13 bad TLS is told apart: no TLS, a stranger’s certificate, another name, a closed handshake', async () => {
    const secure = kept(await startReceiver(undefined, { secure: true }))
    const plain = kept(await startReceiver())
    const closing = kept(await startRaw((socket) => socket.on('data', () => socket.end())))
    const noise = kept(await startRaw((socket) => socket.on('data', () => socket.write('not tls at all'))))
    const at = (port: number) => `https://127.0.0.1:${port}/hook`
    const asking = agent()
    for (const { port } of [secure, plain, closing, noise]) {
      expect(await kindOf(asking.request(at(port), post)), String(port)).toBe('tls')
    }
    const trusting = agentOf({ allowInsecure: true, ca: testCertificate.cert })
    expect((await trusting.request(at(secure.port), post)).status).toBe(200)
    const elsewhere = agentOf({
      allowInsecure: false,
      ca: testCertificate.cert,
      resolver: async () => ({ addresses: ['8.8.8.8'], ttl: 0 }),
      dial: () => ({ host: '127.0.0.1', port: secure.port }),
    })
    expect(await kindOf(elsewhere.request('https://other.example.test/', post))).toBe('tls')
    expect([secure.got.length, plain.got.length]).toEqual([1, 0])
  })

  test('a signal ends the request and lets go of the connection', async () => {
    const receiver = kept(await startRaw(() => undefined))
    const stop = new AbortController()
    const asking = agent().request(receiver.url, { ...post, signal: stop.signal })
    await expect.poll(() => receiver.connections()).toBe(1)
    stop.abort(new Error('enough'))
    await expect(asking).rejects.toThrow('enough')
  })

  test('one that hangs delays no other to the same place', async () => {
    const receiver = kept(
      await startReceiver(({ path }, response) => {
        if (path === '/quick') response.end('here')
      }),
    )
    const asking = agent()
    const hung = Array.from({ length: 8 }, () => kindOf(asking.request(receiver.url, { ...post, timeoutMs: 2_000 })))
    const quick = await asking.request(receiver.url.replace('/hook', '/quick'), post)
    expect(quick.body.toString()).toBe('here')
    expect(new Set(await Promise.all(hung))).toEqual(new Set(['timeout']))
  })
})

test('no request and no question leaves while a transaction is open', async () => {
  const database = await makeTestDatabase('empty')
  const db = openDb({ url: database.url, log: silentLog() })
  const receiver = kept(await startReceiver())
  const agent = agentOf({ allowInsecure: true })
  await expect(db.tx(() => agent.request(receiver.url, post))).rejects.toThrow('inside a database transaction')
  await expect(db.tx(() => agent.judge(receiver.url))).rejects.toThrow('inside a database transaction')
  expect(receiver.connections()).toBe(0)
  await db.close()
  await database.drop()
})
