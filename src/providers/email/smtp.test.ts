import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../ground/clock.ts'
import { silentLog } from '../../ground/log.ts'
import { dkimKeys, faultOf, type Signer, selfSigned, testMail, to } from './harness.ts'
import { makeSmtpProvider, type SmtpPatience } from './smtp.ts'

type Letter = {
  from: string
  to: string[]
  raw: Buffer
  user: string | undefined
  secure: boolean
  utf8: boolean
}

const answer = (code: number, words: string): Error => Object.assign(new Error(words), { responseCode: code })

const buffered = async (stream: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** A relay on this machine that keeps what it takes. */
const relayWith = async (options: SMTPServerOptions = {}) => {
  const letters: Letter[] = []
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
        letters.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw,
          user: session.user as string | undefined,
          secure: session.secure,
          utf8: session.envelope.smtpUtf8 === true,
        })
        done(null, `OK: queued as Q${letters.length}`)
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
    letters,
    port,
    connections: () => connections,
    open: () => server.connections.size,
    /** Ends every connection without a word. */
    drop: () => {
      for (const connection of server.connections) connection._socket.destroy()
    },
  }
}

const patience: SmtpPatience = { connectMs: 5_000, answerMs: 10_000, turnMs: 10_000, totalMs: 15_000 }

const providerTo = (url: string, changes: Partial<SmtpPatience> = {}, poolSize = 2) => {
  const provider = makeSmtpProvider({
    url,
    poolSize,
    clock: systemClock,
    log: silentLog(),
    patience: { ...patience, ...changes },
  })
  onTestFinished(() => provider.close())
  return provider
}

/** For polling on a machine that has much else to do. */
const soon = { timeout: 10_000 }

const plain = (port: number, query = '') => `smtp://127.0.0.1:${port}${query}`

let signer: Signer
beforeAll(async () => {
  signer = await selfSigned('relay.test')
})

describe('a relay that takes the mail', () => {
  test('gets it once, to every recipient, from the return path', async () => {
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
    const [letter, ...others] = relay.letters
    expect(others).toEqual([])
    expect([letter?.from, letter?.to]).toEqual([
      'bounces@send.example.test',
      // This server shows domains decoded; that it needed no SMTPUTF8 tells that they came in ASCII.
      ['ann@reader.test', 'jo@bücher.test', 'cc@reader.test', 'hidden@reader.test'],
    ])
    expect(letter?.utf8).toBe(false)
    const read = await PostalMime.parse(letter?.raw as Buffer)
    expect([read.messageId, read.subject, read.text?.trim()]).toEqual([
      `<${mail.messageId}@example.test>`,
      'A subject',
      'Hi',
    ])
    expect(letter?.raw.toString()).not.toMatch(/hidden@reader|x-mailer/i)
  })

  test('gets it signed, so that the signature holds after the way over the wire', async () => {
    const relay = await relayWith()
    const { privateKey, record } = dkimKeys()
    const dkim = { domain: 'example.test', selector: 'svc1', privateKey }
    await providerTo(plain(relay.port)).send(testMail({ dkim, text: '.\n..\na\rb\n.\n', subject: 'Grüße' }))
    const resolver = async () => [[record]]
    const { results } = await dkimVerify(relay.letters[0]?.raw as Buffer, { resolver })
    expect(results.map(({ signingDomain, status }) => [signingDomain, status.result])).toEqual([
      ['example.test', 'pass'],
    ])
  })

  test('a key that cannot sign keeps the mail here', async () => {
    const relay = await relayWith()
    const dkim = { domain: 'example.test', selector: 'svc1', privateKey: 'none' }
    expect((await faultOf(providerTo(plain(relay.port)).send(testMail({ dkim })))).kind).toBe('unavailable')
    expect(relay.letters).toEqual([])
  })

  test('keeps its connections for further mail, no more of them than the pool has', async () => {
    const relay = await relayWith()
    const provider = providerTo(plain(relay.port))
    await Promise.all(Array.from({ length: 40 }, () => provider.send(testMail())))
    for (let i = 0; i < 10; i++) await provider.send(testMail())
    expect(relay.letters).toHaveLength(50)
    expect(relay.connections()).toBeLessThanOrEqual(2)
  })

  test('may end idle connections: the next mail goes over a new one', async () => {
    const relay = await relayWith()
    const provider = providerTo(plain(relay.port))
    for (let i = 0; i < 3; i++) {
      await provider.send(testMail())
      relay.drop()
    }
    expect(relay.letters).toHaveLength(3)
    expect(relay.connections()).toBe(3)
  })

  test('is left in peace once the provider is closed, after what was under way', async () => {
    const relay = await relayWith()
    const provider = providerTo(plain(relay.port))
    const last = provider.send(testMail())
    await provider.close()
    expect((await last).provider).toBe('smtp')
    expect((await faultOf(provider.send(testMail()))).kind).toBe('unavailable')
    expect(relay.letters).toHaveLength(1)
    await expect.poll(relay.open, soon).toBe(0)
  })
})

describe('TLS', () => {
  const withTls = () => ({ key: signer.key, cert: signer.certificate, disabledCommands: ['AUTH'] })

  test('is used when it is offered, and a certificate nobody vouches for ends it there', async () => {
    const relay = await relayWith(withTls())
    expect(await faultOf(providerTo(plain(relay.port)).send(testMail()))).toMatchObject({ kind: 'unavailable' })
    expect(relay.letters).toEqual([])
    await providerTo(plain(relay.port, '?verify=off')).send(testMail())
    expect(relay.letters.map(({ secure }) => secure)).toEqual([true])
    await providerTo(plain(relay.port, '?tls=off')).send(testMail())
    expect(relay.letters.map(({ secure }) => secure)).toEqual([true, false])
  })

  test('can be required, and is for credentials that leave the machine', async () => {
    const relay = await relayWith()
    const fault = await faultOf(providerTo(plain(relay.port, '?tls=require')).send(testMail()))
    expect(fault.kind).toBe('unavailable')
    expect(relay.letters).toEqual([])
  })

  test('is there from the first byte with smtps', async () => {
    const relay = await relayWith({ ...withTls(), secure: true })
    await providerTo(`smtps://127.0.0.1:${relay.port}?verify=off`).send(testMail())
    expect(relay.letters.map(({ secure }) => secure)).toEqual([true])
    expect((await faultOf(providerTo(`smtps://127.0.0.1:${relay.port}`).send(testMail()))).kind).toBe('unavailable')
    expect(relay.letters).toHaveLength(1)
  })
})

describe('credentials', () => {
  const guarded = (): SMTPServerOptions => ({
    authOptional: false,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      username === 'us:er' && password === 'p@ss/word'
        ? done(null, { user: username })
        : done(answer(535, '5.7.8 no such user')),
  })

  test('are shown to the relay', async () => {
    const relay = await relayWith(guarded())
    const url = `smtp://us%3Aer:p%40ss%2Fword@127.0.0.1:${relay.port}`
    await providerTo(url).send(testMail())
    expect(relay.letters.map(({ user }) => user)).toEqual(['us:er'])
  })

  test('that are wrong, or missing, are our fault and not the message’s', async () => {
    const relay = await relayWith(guarded())
    const wrong = await faultOf(providerTo(`smtp://user:hunter2@127.0.0.1:${relay.port}`).send(testMail()))
    expect([wrong.kind, wrong.message]).toEqual(['unavailable', 'The mail relay did not accept our credentials.'])
    expect((await faultOf(providerTo(plain(relay.port)).send(testMail()))).kind).toBe('unavailable')
    expect(relay.letters).toEqual([])
  })

  test('are not passed over when the relay offers no authentication', async () => {
    const relay = await relayWith()
    expect((await faultOf(providerTo(`smtp://user:pass@127.0.0.1:${relay.port}`).send(testMail()))).kind).toBe(
      'unavailable',
    )
    expect(relay.letters).toEqual([])
  })
})

describe('an answer that is not yes', () => {
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

  const cases: [code: number, words: string, kind: string][] = [
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

  test.each(Object.keys(stages(new Error())))('to %s is judged by its code and words', async (stage) => {
    for (const [code, words, kind] of cases) {
      const relay = await relayWith(stages(answer(code, words))[stage])
      const fault = await faultOf(providerTo(plain(relay.port)).send(testMail()))
      expect([code, words, fault.kind, fault.message]).toEqual([code, words, kind, `${code} ${words}`])
      expect(relay.letters).toEqual([])
    }
  })

  test('in the greeting is about us', async () => {
    for (const [code, words, kind] of [
      [554, 'no service', 'unavailable'],
      [421, 'too many connections', 'throttled'],
    ] as const) {
      const relay = await relayWith({ onConnect: (_session, done) => done(answer(code, words)) })
      expect((await faultOf(providerTo(plain(relay.port)).send(testMail()))).kind).toBe(kind)
    }
  })

  test('leaves the connection fit for the next mail', async () => {
    const relay = await relayWith({
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith('no') ? answer(550, '5.1.1 no such mailbox') : null),
    })
    const provider = providerTo(plain(relay.port), {}, 1)
    for (let i = 0; i < 3; i++) {
      expect((await faultOf(provider.send(testMail({ to: to('no@reader.test') })))).kind).toBe('refused')
      await provider.send(testMail())
    }
    expect(relay.letters).toHaveLength(3)
    expect(relay.connections()).toBe(1)
  })

  test('to some recipients lets the mail go to the others and tells who was refused', async () => {
    const words: Record<string, Error> = {
      'gone@bücher.test': answer(550, '5.1.1 no such mailbox'),
      'full@reader.test': answer(452, '4.2.2 mailbox full'),
      'policy@reader.test': answer(554, '5.7.1 relaying denied'),
    }
    const relay = await relayWith({
      onRcptTo: ({ address }, _session, done) => done(words[address] ?? null),
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
    expect(relay.letters.map((letter) => letter.to)).toEqual([['ann@reader.test']])
  })

  test('to all recipients refuses the mail, or asks to come again when one was only put off', async () => {
    const words: Record<string, Error> = {
      'gone@reader.test': answer(550, '5.1.1 no such mailbox'),
      'later@reader.test': answer(450, '4.2.0 greylisted'),
    }
    const relay = await relayWith({ onRcptTo: ({ address }, _session, done) => done(words[address] ?? null) })
    const provider = providerTo(plain(relay.port))
    expect((await faultOf(provider.send(testMail({ to: to('gone@reader.test') })))).kind).toBe('refused')
    const both = testMail({ to: to('later@reader.test', 'gone@reader.test') })
    expect((await faultOf(provider.send(both))).kind).toBe('unavailable')
    expect(relay.letters).toEqual([])
  })
})

describe('a connection that is lost', () => {
  const big = () => testMail({ attachments: [{ filename: 'a', contentType: 'a/b', content: Buffer.alloc(8_000_000) }] })

  test('before it stood: nothing was handed over', async () => {
    const gone = await faultOf(providerTo(`smtp://127.0.0.1:1`).send(testMail()))
    expect([gone.kind, gone.provider]).toEqual(['unavailable', 'smtp'])
    expect(gone.message).not.toContain('127.0.0.1')
  })

  test.each(['onConnect', 'onMailFrom', 'onRcptTo'] as const)('at %s: nothing was handed over', async (stage) => {
    const relay = await relayWith({ [stage]: () => relay.drop() })
    expect((await faultOf(providerTo(plain(relay.port)).send(testMail()))).kind).toBe('unavailable')
    expect(relay.letters).toEqual([])
  })

  test('within the message: nothing was handed over, since no relay takes half of one', async () => {
    const relay = await relayWith({ onData: (stream) => stream.once('data', () => relay.drop()) })
    expect((await faultOf(providerTo(plain(relay.port)).send(big()))).kind).toBe('unavailable')
  })

  test('after the message: it may be on its way, and is not sent again', async () => {
    let taken = 0
    const relay = await relayWith({
      onData: (stream) => {
        stream.resume()
        stream.once('end', () => {
          taken++
          relay.drop()
        })
      },
    })
    const fault = await faultOf(providerTo(plain(relay.port)).send(testMail()))
    expect([fault.kind, taken, relay.connections()]).toEqual(['uncertain', 1, 1])
    expect((await faultOf(providerTo(plain(relay.port)).send(big()))).kind).toBe('uncertain')
  })

  test('after earlier mail went over it: the same rules hold on a kept connection', async () => {
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

describe('a relay that keeps us waiting', () => {
  test('for the greeting or an answer before the message: nothing was handed over', async () => {
    for (const stage of ['onConnect', 'onMailFrom', 'onRcptTo'] as const) {
      const relay = await relayWith({ [stage]: () => undefined })
      const provider = providerTo(plain(relay.port), { connectMs: 300, answerMs: 300 })
      expect((await faultOf(provider.send(testMail()))).kind, stage).toBe('unavailable')
    }
  })

  test('after the message: it may be on its way', async () => {
    const relay = await relayWith({ onData: (stream) => stream.resume() })
    const provider = providerTo(plain(relay.port), { answerMs: 2_000 })
    expect((await faultOf(provider.send(testMail()))).kind).toBe('uncertain')
  })

  test('past the time for all of it: a message that had not gone out by then never does', async () => {
    let goOn: (() => void) | undefined
    const relay = await relayWith({
      onRcptTo: (_address, _session, done) => {
        goOn = () => done()
      },
    })
    const provider = providerTo(plain(relay.port), { totalMs: 300 }, 1)
    expect((await faultOf(provider.send(testMail()))).kind).toBe('unavailable')
    goOn?.()
    await expect.poll(relay.open, soon).toBe(0)
    expect(relay.letters).toEqual([])
  })

  test('past the time for all of it, before it even greeted: the message does not go out afterwards', async () => {
    let greet: (() => void) | undefined
    const relay = await relayWith({
      onConnect: (_session, done) => {
        greet = () => done()
      },
    })
    const provider = providerTo(plain(relay.port), { totalMs: 300 }, 1)
    expect((await faultOf(provider.send(testMail()))).kind).toBe('unavailable')
    await expect.poll(() => greet, soon).toBeDefined()
    greet?.()
    await expect.poll(relay.open, soon).toBe(0)
    expect(relay.letters).toEqual([])
  })

  test('past the time for all of it, with the message out: it may be on its way', async () => {
    const relay = await relayWith({ onData: (stream) => stream.resume() })
    const provider = providerTo(plain(relay.port), { totalMs: 3_000 })
    expect((await faultOf(provider.send(testMail()))).kind).toBe('uncertain')
  })

  test('with every connection busy: the next one is told to come later, and is not sent then', async () => {
    const held: (() => void)[] = []
    const relay = await relayWith({
      onMailFrom: (_address, _session, done) => {
        held.push(() => done())
      },
    })
    const provider = providerTo(plain(relay.port), { turnMs: 50 }, 1)
    const first = provider.send(testMail())
    await expect.poll(() => held.length, soon).toBe(1)
    expect((await faultOf(provider.send(testMail()))).kind).toBe('throttled')
    held[0]?.()
    await first
    expect([relay.letters.length, held.length]).toEqual([1, 1])
  })
})

describe('an address beyond ASCII', () => {
  test('goes to a relay with SMTPUTF8 and no other', async () => {
    const mail = () => testMail({ to: to('jürgen@bücher.test') })
    const able = await relayWith()
    await providerTo(plain(able.port)).send(mail())
    expect(able.letters.map((letter) => [letter.to, letter.utf8])).toEqual([[['jürgen@bücher.test'], true]])
    const unable = await relayWith({ hideSMTPUTF8: true })
    const provider = providerTo(plain(unable.port))
    expect((await faultOf(provider.send(mail()))).kind).toBe('refused')
    await provider.send(testMail())
    expect((await faultOf(provider.send(mail()))).kind).toBe('refused')
    expect(unable.letters).toHaveLength(1)
  })

  test('waits like any other for a relay that cannot be asked', async () => {
    const fault = await faultOf(providerTo('smtp://127.0.0.1:1').send(testMail({ to: to('jürgen@reader.test') })))
    expect(fault.kind).toBe('unavailable')
  })
})
