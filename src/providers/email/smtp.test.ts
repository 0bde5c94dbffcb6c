import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { dkimKeys, faultOf, type Signer, selfSigned, testMail, to } from '../../../test/providers/email.ts'
import { systemClock } from '../../platform/ground/clock.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeSmtpProvider, type SmtpTimeouts } from './smtp.ts'

type ReceivedMail = {
  from: string
  to: string[]
  raw: Buffer
  user: string | undefined
  secure: boolean
  utf8: boolean
}

const smtpError = (code: number, text: string): Error => Object.assign(new Error(text), { responseCode: code })

const buffered = async (stream: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** A local relay that stores the mail it accepts. */
const relayWith = async (options: SMTPServerOptions = {}) => {
  const received: ReceivedMail[] = []
  let connections = 0
  const server: SMTPServer = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    disableReverseLookup: true,
    closeTimeout: 100,
    onConnect: (_session, done) => {
      connections++
      done()
    },
    onData: (stream, session, done) => {
      void buffered(stream).then((raw) => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw,
          user: session.user as string | undefined,
          secure: session.secure,
          utf8: session.envelope.smtpUtf8 === true,
        })
        done(null, `OK: queued as Q${received.length}`)
      }, done)
    },
    ...options,
  })
  server.on('error', () => undefined)
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)))
  const { port } = listening.address() as AddressInfo
  return {
    received,
    port,
    connections: () => connections,
    open: () => server.connections.size,
    /** Closes every connection without a reply. */
    drop: () => {
      for (const connection of server.connections) connection._socket.destroy()
    },
  }
}

const timeouts: SmtpTimeouts = { connectMs: 5_000, replyMs: 10_000, poolWaitMs: 10_000, totalMs: 15_000 }

const providerTo = (url: string, changes: Partial<SmtpTimeouts> = {}, poolSize = 2) => {
  const provider = makeSmtpProvider({
    url,
    poolSize,
    clock: systemClock,
    log: silentLog(),
    timeouts: { ...timeouts, ...changes },
  })
  onTestFinished(() => provider.close())
  return provider
}

/** For polling on a busy machine. */
const slowPoll = { timeout: 10_000 }

const plain = (port: number, query = '') => `smtp://127.0.0.1:${port}${query}`

let signer: Signer
beforeAll(async () => {
  signer = await selfSigned('relay.test')
})

describe('a relay that accepts mail', () => {
  test('receives it once, for every recipient, from the return path', async () => {
    const relay = await relayWith()
    const mail = testMail({
      to: to('ann@reader.test', 'jo@bücher.test'),
      cc: to('cc@reader.test'),
      bcc: to('hidden@reader.test'),
      returnPath: 'bounces@send.example.test',
    })
    expect(await providerTo(plain(relay.port)).send(mail)).toEqual({
      provider: 'smtp',
      providerMessageId: 'Q1',
    })
    const [delivered, ...others] = relay.received
    expect(others).toEqual([])
    expect([delivered?.from, delivered?.to]).toEqual([
      'bounces@send.example.test',
      // This server decodes domains. SMTPUTF8 was not used, which proves that they arrived in ASCII.
      ['ann@reader.test', 'jo@bücher.test', 'cc@reader.test', 'hidden@reader.test'],
    ])
    expect(delivered?.utf8).toBe(false)
    const read = await PostalMime.parse(delivered?.raw as Buffer)
    expect([read.messageId, read.subject, read.text?.trim()]).toEqual([
      `<${mail.messageId}@example.test>`,
      'A subject',
      'Hi',
    ])
    expect(delivered?.raw.toString()).not.toMatch(/hidden@reader|x-mailer/i)
  })

  test('receives a DKIM signature that is valid after transmission', async () => {
    const relay = await relayWith()
    const { privateKey, record } = dkimKeys()
    const dkim = { domain: 'example.test', selector: 'svc1', privateKey }
    await providerTo(plain(relay.port)).send(testMail({ dkim, text: '.\n..\na\rb\n.\n', subject: 'Grüße' }))
    const resolver = async () => [[record]]
    const { results } = await dkimVerify(relay.received[0]?.raw as Buffer, { resolver })
    expect(results.map(({ signingDomain, status }) => [signingDomain, status.result])).toEqual([
      ['example.test', 'pass'],
    ])
  })

  test('receives nothing when the DKIM key cannot sign', async () => {
    const relay = await relayWith()
    const dkim = { domain: 'example.test', selector: 'svc1', privateKey: 'none' }
    expect((await faultOf(providerTo(plain(relay.port)).send(testMail({ dkim })))).kind).toBe('unavailable')
    expect(relay.received).toEqual([])
  })

  test('gets no more connections than the pool size, and they are reused', async () => {
    const relay = await relayWith()
    const provider = providerTo(plain(relay.port))
    await Promise.all(Array.from({ length: 40 }, () => provider.send(testMail())))
    for (let i = 0; i < 10; i++) await provider.send(testMail())
    expect(relay.received).toHaveLength(50)
    expect(relay.connections()).toBeLessThanOrEqual(2)
  })

  test('may close idle connections, and the next mail uses a new one', async () => {
    const relay = await relayWith()
    const provider = providerTo(plain(relay.port))
    for (let i = 0; i < 3; i++) {
      await provider.send(testMail())
      relay.drop()
    }
    expect(relay.received).toHaveLength(3)
    expect(relay.connections()).toBe(3)
  })

  test('gets no mail after the provider closes, except for mail that is being sent', async () => {
    const relay = await relayWith()
    const provider = providerTo(plain(relay.port))
    const last = provider.send(testMail())
    await provider.close()
    expect((await last).provider).toBe('smtp')
    expect((await faultOf(provider.send(testMail()))).kind).toBe('unavailable')
    expect(relay.received).toHaveLength(1)
    await expect.poll(relay.open, slowPoll).toBe(0)
  })
})

describe('TLS', () => {
  const withTls = () => ({ key: signer.key, cert: signer.certificate, disabledCommands: ['AUTH'] })

  test('is used when the relay offers it, and an untrusted certificate stops the send', async () => {
    const relay = await relayWith(withTls())
    expect(await faultOf(providerTo(plain(relay.port)).send(testMail()))).toMatchObject({ kind: 'unavailable' })
    expect(relay.received).toEqual([])
    await providerTo(plain(relay.port, '?verify=off')).send(testMail())
    expect(relay.received.map(({ secure }) => secure)).toEqual([true])
    await providerTo(plain(relay.port, '?tls=off')).send(testMail())
    expect(relay.received.map(({ secure }) => secure)).toEqual([true, false])
  })

  test('can be required, and a relay without it gets no mail', async () => {
    const relay = await relayWith()
    const fault = await faultOf(providerTo(plain(relay.port, '?tls=require')).send(testMail()))
    expect(fault.kind).toBe('unavailable')
    expect(relay.received).toEqual([])
  })

  test('starts with the first byte for smtps URLs', async () => {
    const relay = await relayWith({ ...withTls(), secure: true })
    await providerTo(`smtps://127.0.0.1:${relay.port}?verify=off`).send(testMail())
    expect(relay.received.map(({ secure }) => secure)).toEqual([true])
    expect((await faultOf(providerTo(`smtps://127.0.0.1:${relay.port}`).send(testMail()))).kind).toBe('unavailable')
    expect(relay.received).toHaveLength(1)
  })
})

describe('credentials', () => {
  const requiringAuth = (): SMTPServerOptions => ({
    authOptional: false,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      username === 'us:er' && password === 'p@ss/word'
        ? done(null, { user: username })
        : done(smtpError(535, '5.7.8 no such user')),
  })

  test('are sent to the relay', async () => {
    const relay = await relayWith(requiringAuth())
    const url = `smtp://us%3Aer:p%40ss%2Fword@127.0.0.1:${relay.port}`
    await providerTo(url).send(testMail())
    expect(relay.received.map(({ user }) => user)).toEqual(['us:er'])
  })

  test('that are wrong or missing make the relay unavailable and do not refuse the message', async () => {
    const relay = await relayWith(requiringAuth())
    const wrong = await faultOf(providerTo(`smtp://user:hunter2@127.0.0.1:${relay.port}`).send(testMail()))
    expect([wrong.kind, wrong.message]).toEqual(['unavailable', 'The mail relay did not accept our credentials.'])
    expect((await faultOf(providerTo(plain(relay.port)).send(testMail()))).kind).toBe('unavailable')
    expect(relay.received).toEqual([])
  })

  test('prevent sending when the relay does not offer AUTH', async () => {
    const relay = await relayWith()
    expect((await faultOf(providerTo(`smtp://user:pass@127.0.0.1:${relay.port}`).send(testMail()))).kind).toBe(
      'unavailable',
    )
    expect(relay.received).toEqual([])
  })
})

describe('a negative reply', () => {
  const stages = (error: Error): Record<string, SMTPServerOptions> => ({
    'MAIL FROM': { onMailFrom: (_address, _session, done) => done(error) },
    'RCPT TO': { onRcptTo: (_address, _session, done) => done(error) },
    DATA: {
      onData: (stream, _session, done) => {
        stream.resume()
        stream.once('end', () => done(error))
      },
    },
  })

  const cases: [code: number, text: string, kind: string][] = [
    [550, '5.1.1 no such mailbox', 'refused'],
    [552, '5.3.4 too large', 'refused'],
    [554, '5.7.1 not like this', 'refused'],
    [530, '5.7.0 authenticate first', 'unavailable'],
    [451, '4.3.0 try again later', 'unavailable'],
    [450, '4.2.0 greylisted', 'unavailable'],
    [452, '4.3.1 insufficient system storage, quota exceeded', 'unavailable'],
    [450, '4.7.28 too many messages', 'throttled'],
    [451, '4.7.1 rate limit exceeded', 'throttled'],
    [452, '4.5.3 too many recipients', 'throttled'],
    [454, 'Throttling failure: maximum sending rate exceeded', 'throttled'],
    [421, '4.7.0 slow down', 'throttled'],
    [421, '4.3.2 shutting down', 'unavailable'],
    [455, 'rate limit', 'unavailable'],
  ]

  test.each(Object.keys(stages(new Error())))('to %s is classified by its code and text', async (stage) => {
    for (const [code, text, kind] of cases) {
      const relay = await relayWith(stages(smtpError(code, text))[stage])
      const fault = await faultOf(providerTo(plain(relay.port)).send(testMail()))
      expect([code, text, fault.kind, fault.message]).toEqual([code, text, kind, `${code} ${text}`])
      expect(relay.received).toEqual([])
    }
  })

  test('in the greeting does not refuse the message', async () => {
    for (const [code, text, kind] of [
      [554, 'no service', 'unavailable'],
      [421, 'too many connections', 'throttled'],
    ] as const) {
      const relay = await relayWith({ onConnect: (_session, done) => done(smtpError(code, text)) })
      expect((await faultOf(providerTo(plain(relay.port)).send(testMail()))).kind).toBe(kind)
    }
  })

  test('leaves the connection usable for the next mail', async () => {
    const relay = await relayWith({
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith('no') ? smtpError(550, '5.1.1 no such mailbox') : null),
    })
    const provider = providerTo(plain(relay.port), {}, 1)
    for (let i = 0; i < 3; i++) {
      expect((await faultOf(provider.send(testMail({ to: to('no@reader.test') })))).kind).toBe('refused')
      await provider.send(testMail())
    }
    expect(relay.received).toHaveLength(3)
    expect(relay.connections()).toBe(1)
  })

  test('to some recipients is reported for each, and the others receive the mail', async () => {
    const replies: Record<string, Error> = {
      'gone@bücher.test': smtpError(550, '5.1.1 no such mailbox'),
      'full@reader.test': smtpError(452, '4.2.2 mailbox full'),
      'policy@reader.test': smtpError(554, '5.7.1 relaying denied'),
    }
    const relay = await relayWith({
      onRcptTo: ({ address }, _session, done) => done(replies[address] ?? null),
    })
    const mail = testMail({
      to: to('ann@reader.test', 'gone@bücher.test'),
      cc: to('full@reader.test'),
      bcc: to('policy@reader.test'),
    })
    const handed = await providerTo(plain(relay.port)).send(mail)
    const when = expect.any(Date)
    const general = { bounceSubtype: 'General', at: when }
    expect(handed).toEqual({
      provider: 'smtp',
      providerMessageId: 'Q1',
      reports: [
        {
          kind: 'hard_bounce',
          recipients: ['gone@bücher.test'],
          bounceType: 'Permanent',
          ...general,
          detail: '550 5.1.1 no such mailbox',
        },
        {
          kind: 'soft_bounce',
          recipients: ['full@reader.test'],
          bounceType: 'Transient',
          ...general,
          detail: '452 4.2.2 mailbox full',
        },
        {
          kind: 'soft_bounce',
          recipients: ['policy@reader.test'],
          bounceType: 'Permanent',
          ...general,
          detail: '554 5.7.1 relaying denied',
        },
      ],
    })
    expect(relay.received.map((mail) => mail.to)).toEqual([['ann@reader.test']])
  })

  test('to all recipients refuses the mail, unless one of the replies is temporary', async () => {
    const replies: Record<string, Error> = {
      'gone@reader.test': smtpError(550, '5.1.1 no such mailbox'),
      'later@reader.test': smtpError(450, '4.2.0 greylisted'),
    }
    const relay = await relayWith({ onRcptTo: ({ address }, _session, done) => done(replies[address] ?? null) })
    const provider = providerTo(plain(relay.port))
    expect((await faultOf(provider.send(testMail({ to: to('gone@reader.test') })))).kind).toBe('refused')
    const both = testMail({ to: to('later@reader.test', 'gone@reader.test') })
    expect((await faultOf(provider.send(both))).kind).toBe('unavailable')
    expect(relay.received).toEqual([])
  })
})

describe('a lost connection', () => {
  const big = () => testMail({ attachments: [{ filename: 'a', contentType: 'a/b', content: Buffer.alloc(8_000_000) }] })

  test('that was never established means unavailable', async () => {
    const fault = await faultOf(providerTo(`smtp://127.0.0.1:1`).send(testMail()))
    expect([fault.kind, fault.provider]).toEqual(['unavailable', 'smtp'])
    expect(fault.message).not.toContain('127.0.0.1')
  })

  test.each(['onConnect', 'onMailFrom', 'onRcptTo'] as const)('at %s means unavailable', async (stage) => {
    const relay = await relayWith({ [stage]: () => relay.drop() })
    expect((await faultOf(providerTo(plain(relay.port)).send(testMail()))).kind).toBe('unavailable')
    expect(relay.received).toEqual([])
  })

  test('within the message means unavailable, because a relay does not accept half a message', async () => {
    const relay = await relayWith({ onData: (stream) => stream.once('data', () => relay.drop()) })
    expect((await faultOf(providerTo(plain(relay.port)).send(big()))).kind).toBe('unavailable')
  })

  test('after the message means uncertain, and the message is not sent again', async () => {
    let completed = 0
    const relay = await relayWith({
      onData: (stream) => {
        stream.resume()
        stream.once('end', () => {
          completed++
          relay.drop()
        })
      },
    })
    const fault = await faultOf(providerTo(plain(relay.port)).send(testMail()))
    expect([fault.kind, completed, relay.connections()]).toEqual(['uncertain', 1, 1])
    expect((await faultOf(providerTo(plain(relay.port)).send(big()))).kind).toBe('uncertain')
  })

  test('follows the same rules when the connection was used before', async () => {
    let lose = false
    const relay = await relayWith({
      onData: (stream, _session, done) => {
        stream.resume()
        stream.once('end', () => (lose ? relay.drop() : done(null, 'OK')))
      },
    })
    const provider = providerTo(plain(relay.port), {}, 1)
    const mail = testMail()
    expect((await provider.send(mail)).providerMessageId).toBe(mail.messageId)
    lose = true
    expect((await faultOf(provider.send(testMail()))).kind).toBe('uncertain')
    expect(relay.connections()).toBe(1)
  })
})

describe('a slow relay', () => {
  test('is unavailable when the greeting or a reply before the message times out', async () => {
    for (const stage of ['onConnect', 'onMailFrom', 'onRcptTo'] as const) {
      const relay = await relayWith({ [stage]: () => undefined })
      const provider = providerTo(plain(relay.port), { connectMs: 300, replyMs: 300 })
      expect((await faultOf(provider.send(testMail()))).kind, stage).toBe('unavailable')
    }
  })

  test('is uncertain when the reply to the message times out', async () => {
    const relay = await relayWith({ onData: (stream) => stream.resume() })
    const provider = providerTo(plain(relay.port), { replyMs: 2_000 })
    expect((await faultOf(provider.send(testMail()))).kind).toBe('uncertain')
  })

  test('never receives a message that was not sent by the total deadline', async () => {
    let acceptRecipient: (() => void) | undefined
    const relay = await relayWith({
      onRcptTo: (_address, _session, done) => {
        acceptRecipient = () => done()
      },
    })
    const provider = providerTo(plain(relay.port), { totalMs: 300 }, 1)
    expect((await faultOf(provider.send(testMail()))).kind).toBe('unavailable')
    acceptRecipient?.()
    await expect.poll(relay.open, slowPoll).toBe(0)
    expect(relay.received).toEqual([])
  })

  test('never receives a message when the total deadline passes before its greeting', async () => {
    let greet: (() => void) | undefined
    const relay = await relayWith({
      onConnect: (_session, done) => {
        greet = () => done()
      },
    })
    const provider = providerTo(plain(relay.port), { totalMs: 300 }, 1)
    expect((await faultOf(provider.send(testMail()))).kind).toBe('unavailable')
    await expect.poll(() => greet, slowPoll).toBeDefined()
    greet?.()
    await expect.poll(relay.open, slowPoll).toBe(0)
    expect(relay.received).toEqual([])
  })

  test('is uncertain when the total deadline passes after the message was sent', async () => {
    const relay = await relayWith({ onData: (stream) => stream.resume() })
    const provider = providerTo(plain(relay.port), { totalMs: 3_000 })
    expect((await faultOf(provider.send(testMail()))).kind).toBe('uncertain')
  })

  test('with every connection busy throttles the next message, which is not sent later', async () => {
    const pending: (() => void)[] = []
    const relay = await relayWith({
      onMailFrom: (_address, _session, done) => {
        pending.push(() => done())
      },
    })
    const provider = providerTo(plain(relay.port), { poolWaitMs: 50 }, 1)
    const first = provider.send(testMail())
    await expect.poll(() => pending.length, slowPoll).toBe(1)
    expect((await faultOf(provider.send(testMail()))).kind).toBe('throttled')
    pending[0]?.()
    await first
    expect([relay.received.length, pending.length]).toEqual([1, 1])
  })
})

describe('an address with a local part that is not ASCII', () => {
  test('is accepted only by a relay with SMTPUTF8', async () => {
    const mail = () => testMail({ to: to('jürgen@bücher.test') })
    const supporting = await relayWith()
    await providerTo(plain(supporting.port)).send(mail())
    expect(supporting.received.map((mail) => [mail.to, mail.utf8])).toEqual([[['jürgen@bücher.test'], true]])
    const unsupporting = await relayWith({ hideSMTPUTF8: true })
    const provider = providerTo(plain(unsupporting.port))
    expect((await faultOf(provider.send(mail()))).kind).toBe('refused')
    await provider.send(testMail())
    expect((await faultOf(provider.send(mail()))).kind).toBe('refused')
    expect(unsupporting.received).toHaveLength(1)
  })

  test('is unavailable, not refused, when the relay cannot be reached', async () => {
    const fault = await faultOf(providerTo('smtp://127.0.0.1:1').send(testMail({ to: to('jürgen@reader.test') })))
    expect(fault.kind).toBe('unavailable')
  })
})
