import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  ca,
  connectSmtp,
  mailer,
  message,
  outboxOf,
  type SmtpConnection,
  startMessage,
  startSubmissionService,
  tlsFiles,
} from '../../../test/clients/submission-client.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { limitConnections } from './connection-limits.ts'

const addressRefusal = '421 4.7.0 Too many connections from this address. Close one of them and try again.'
const totalRefusal = '421 4.3.2 Too many connections. Try again later.'
const replaced = '421 4.3.2 Too many connections. Connect again and authenticate at once.'

const open = async (port: number, from?: string): Promise<SmtpConnection> => {
  const connection = await connectSmtp(port, false, from)
  onTestFinished(() => void connection.socket.destroy())
  return connection
}

/** Opens a connection and waits for its first reply. */
const openUntilReply = async (port: number, from?: string) => {
  const connection = await open(port, from)
  return { ...connection, first: await connection.reply() }
}

const openMany = (count: number, port: number, from: string) =>
  Promise.all(Array.from({ length: count }, () => openUntilReply(port, from)))

const startService = async (options: Parameters<typeof startSubmissionService>[0] = {}) => {
  const service = await startSubmissionService(options)
  onTestFinished(service.stop)
  return service
}

const send = async (connection: SmtpConnection, key: string, to: string) => {
  await connection.command('EHLO client.example.test')
  expect(await connection.signIn(key)).toMatch(/^235 /)
  await startMessage(connection.command, to)
  connection.write(message(to))
  expect(await connection.command('.')).toMatch(/^250 2\.0\.0 msg_\w+$/)
}

describe('the connections of one address', () => {
  test('are limited to 20, other addresses are not affected, and a closed one frees its place', async () => {
    const { port } = await startService()
    const allowed = await openMany(20, port, '127.0.0.2')
    expect(new Set(allowed.map(({ first }) => first))).toEqual(new Set(['220 tidings.test ESMTP Tidings']))
    const refused = await openUntilReply(port, '127.0.0.2')
    expect(refused.first).toBe(addressRefusal)
    await refused.closed
    expect((await openUntilReply(port, '127.0.0.3')).first).toMatch(/^220 /)
    for (const connection of allowed) expect(await connection.command('NOOP')).toMatch(/^250 /)
    allowed[7]?.socket.destroy()
    await expect.poll(async () => (await openUntilReply(port, '127.0.0.2')).first).toMatch(/^220 /)
    expect((await openUntilReply(port, '127.0.0.2')).first).toBe(addressRefusal)
  })

  test('are limited to SMTP_MAX_CONNECTIONS_PER_ADDRESS, whether they have authenticated or not', async () => {
    const service = await startService({ env: { SMTP_MAX_CONNECTIONS_PER_ADDRESS: '1' } })
    const org = await service.org()
    const connection = await openUntilReply(service.port)
    await send(connection, org.keys.live, 'one@example.com')
    expect((await openUntilReply(service.port)).first).toBe(addressRefusal)
    await send(await openUntilReply(service.port, '127.0.0.2'), org.keys.live, 'two@example.com')
    expect(await outboxOf(service, 'one@example.com')).toHaveLength(1)
    expect(await outboxOf(service, 'two@example.com')).toHaveLength(1)
  })

  test('free their place after STARTTLS and after an incomplete handshake', async () => {
    const service = await startService({ env: { ...tlsFiles, SMTP_MAX_CONNECTIONS_PER_ADDRESS: '1' } })
    const org = await service.org()
    const viaTls = mailer(service.port, org.keys.live, { requireTLS: true, tls: { ca } })
    const mail = { from: 'shop@example.test', to: 'tls@example.com', subject: 'Hi', text: 'Hello.' }
    for (const sent of [1, 2]) {
      await expect.poll(async () => (await viaTls(mail)).code).toBe(250)
      expect(await outboxOf(service, 'tls@example.com')).toHaveLength(sent)
    }
    const greeted = async () => {
      const connection = await openUntilReply(service.port)
      if (!connection.first.startsWith('220')) throw new Error(connection.first)
      return connection
    }
    await expect
      .poll(async () => {
        const { command, socket, closed } = await greeted()
        await command('EHLO client.example.test')
        const reply = await command('STARTTLS')
        socket.destroy()
        await closed
        return reply
      })
      .toMatch(/^220 /)
    await expect.poll(async () => (await greeted()).first).toMatch(/^220 /)
  })
})

describe('when 200 connections are open', () => {
  test('a new client takes the place of the longest silent one, and can send', async () => {
    const service = await startService()
    const org = await service.org()
    const authenticated = await openUntilReply(service.port, '127.0.0.2')
    await authenticated.command('EHLO client.example.test')
    expect(await authenticated.signIn(org.keys.live)).toMatch(/^235 /)
    const talking = await openUntilReply(service.port, '127.0.0.2')
    const silent = [await openUntilReply(service.port, '127.0.0.2'), await openUntilReply(service.port, '127.0.0.2')]
    const others = [await openMany(16, service.port, '127.0.0.2')]
    for (let n = 3; n <= 11; n++) others.push(await openMany(20, service.port, `127.0.0.${n}`))
    expect(await talking.command('EHLO client.example.test')).toMatch(/^250/)

    const first = await openUntilReply(service.port)
    expect(first.first).toMatch(/^220 /)
    expect(await silent[0]?.reply()).toBe(replaced)
    await silent[0]?.closed
    expect(await silent[1]?.command('NOOP')).toMatch(/^250 /)
    await send(first, org.keys.live, 'let-in@example.com')
    expect(await outboxOf(service, 'let-in@example.com')).toHaveLength(1)

    // The next silent one has just sent a command, so one of the others is replaced.
    expect((await openUntilReply(service.port)).first).toMatch(/^220 /)
    const all = [authenticated, talking, first, ...silent.slice(1), ...others.flat()]
    const isOpen = ({ socket }: SmtpConnection) => !socket.destroyed && !socket.readableEnded
    await expect.poll(() => all.filter(isOpen).length).toBe(all.length - 1)
    for (const connection of [authenticated, talking, first, ...silent.slice(1)]) {
      expect(await connection.command('NOOP')).toMatch(/^250 /)
    }
  })

  test('and all have authenticated, a new one is refused', async () => {
    const service = await startService()
    const org = await service.org()
    for (let n = 2; n <= 11; n++) {
      const connections = await openMany(20, service.port, `127.0.0.${n}`)
      await Promise.all(
        connections.map(async ({ command, signIn }) => {
          await command('EHLO client.example.test')
          expect(await signIn(org.keys.live)).toMatch(/^235 /)
        }),
      )
    }
    const refused = await openUntilReply(service.port)
    expect(refused.first).toBe(totalRefusal)
    await refused.closed
  })
})

test('R-56 the connections of an IPv6 /64 count together, and those of a /48 at ten times the limit', () => {
  const server = new SMTPServer({ logger: false, disableReverseLookup: true })
  const accepted: string[] = []
  server.server.removeAllListeners('connection')
  server.server.on('connection', ({ remoteAddress }) => accepted.push(remoteAddress as string))
  limitConnections(server, { total: 100, perAddress: 2, implicitTls: false, log: silentLog() })
  let remotePort = 1
  const accepts = (remoteAddress: string): boolean => {
    const before = accepted.length
    const quiet = () => undefined
    const socket = {
      remoteAddress,
      remotePort: remotePort++,
      bytesRead: 0,
      on: quiet,
      write: quiet,
      destroySoon: quiet,
    }
    server.server.emit('connection', socket as unknown as Socket)
    return accepted.length > before
  }
  const from = (...addresses: string[]) => addresses.map(accepts)
  expect(from('2001:db8:0:1::1', '2001:db8:0:1::2', '2001:db8:0:1::3')).toEqual([true, true, false])
  expect(from('::ffff:192.0.2.1', '192.0.2.1', '::ffff:192.0.2.1', '192.0.2.2')).toEqual([true, true, false, true])
  const site = Array.from({ length: 18 }, (_, n) => `2001:db8:0:a${n}::1`)
  expect(from(...site)).toEqual(Array(18).fill(true))
  expect(from('2001:db8:0:b::1', '2001:db8:1::1')).toEqual([false, true])
})

describe('a silent connection loses its place', () => {
  const tls = { cert: ca, key: readFileSync(tlsFiles.SMTP_SUBMISSION_TLS_KEY) }

  /** A server with two places. */
  const startServer = async (options: SMTPServerOptions, onStart?: (server: SMTPServer) => void) => {
    const server = new SMTPServer({ ...tls, logger: false, disableReverseLookup: true, ...options })
    server.on('error', () => undefined)
    limitConnections(server, { total: 2, perAddress: 2, implicitTls: options.secure === true, log: silentLog() })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)))
    onStart?.(server)
    return (server.server.address() as AddressInfo).port
  }

  test('before its greeting', async () => {
    const port = await startServer({})
    const silent = await Promise.all([open(port, '127.0.0.2'), open(port, '127.0.0.2')])
    const next = await Promise.all([open(port, '127.0.0.3'), open(port, '127.0.0.3')])
    for (const { closed } of silent) await closed
    for (const { reply } of next) expect(await reply()).toMatch(/^220 /)
  })

  test.each([false, true])('when many clients connect in the same moment, with implicit TLS: %j', async (secure) => {
    const accepted: unknown[] = []
    const port = await startServer({ secure }, ({ server }) => {
      // Six sockets in one turn: the session of none has started when the last one is accepted.
      const [listener] = server.listeners('connection')
      server.removeAllListeners('connection')
      server.on('connection', (socket) => {
        if (accepted.push(socket) === 6) for (const one of accepted) listener?.call(server, one)
      })
    })
    const addresses = ['127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.3', '127.0.0.4', '127.0.0.4']
    const connections = await Promise.all(addresses.map((from) => open(port, from)))
    const isClosed = ({ socket }: SmtpConnection) => socket.destroyed
    await expect.poll(() => connections.filter(isClosed).length).toBe(4)
    const replies = await Promise.all(connections.filter(isClosed).map(({ reply }) => reply()))
    expect(new Set(replies)).toEqual(new Set([secure ? 'closed' : replaced]))
  })

  test('during and after the handshake of STARTTLS', async () => {
    const port = await startServer({})
    const [handshaking, encrypted] = [await openUntilReply(port, '127.0.0.2'), await openUntilReply(port, '127.0.0.2')]
    for (const { command } of [handshaking, encrypted]) {
      await command('EHLO client.example.test')
      expect(await command('STARTTLS')).toMatch(/^220 /)
    }
    encrypted.socket.removeAllListeners('data')
    const secure = connectTls({ socket: encrypted.socket, ca, host: '127.0.0.1' })
    await once(secure, 'secureConnect')
    const third = await openUntilReply(port, '127.0.0.3')
    expect(third.first).toMatch(/^220 /)
    await handshaking.closed
    // The third has sent something after the others did.
    expect(await third.command('EHLO client.example.test')).toMatch(/^250/)
    const received = once(secure, 'data')
    expect((await openUntilReply(port, '127.0.0.3')).first).toMatch(/^220 /)
    expect(String(await received)).toBe(`${replaced}\r\n`)
    await encrypted.closed
  })

  test('during the handshake of implicit TLS, where a connection over the limit is closed without a reply', async () => {
    const port = await startServer({ secure: true })
    const [first, second] = [await open(port, '127.0.0.2'), await open(port, '127.0.0.2')]
    second.write(Buffer.from('160301020001', 'hex'))
    const overLimit = await open(port, '127.0.0.2')
    expect(await overLimit.reply()).toBe('closed')
    for (const replacedOne of [first, second]) {
      const secure = connectTls({ port, host: '127.0.0.1', localAddress: '127.0.0.3', ca } as ConnectionOptions)
      onTestFinished(() => void secure.destroy())
      const [greeting] = await once(secure, 'data')
      expect(String(greeting)).toMatch(/^220 /)
      expect(await replacedOne.reply()).toBe('closed')
    }
  })

  test('after QUIT, when its client does not close the connection', async () => {
    const port = await startServer({})
    const [first, second] = [await openUntilReply(port, '127.0.0.2'), await openUntilReply(port, '127.0.0.2')]
    first.socket.allowHalfOpen = true
    expect(await first.command('QUIT')).toMatch(/^221 /)
    const next = [await openUntilReply(port, '127.0.0.3'), await openUntilReply(port, '127.0.0.3')]
    expect(await second.reply()).toBe(replaced)
    for (const { command } of next) expect(await command('NOOP')).toMatch(/^250 /)
  })
})
