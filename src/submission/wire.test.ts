import { once } from 'node:events'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { CreatedOrg } from '../operator/create-org.ts'
import { ca, mailer, outboxOf, startSubmissionService, talk, tlsFiles } from './harness.ts'

let t: Awaited<ReturnType<typeof startSubmissionService>>
let acme: CreatedOrg

beforeAll(async () => {
  t = await startSubmissionService()
  acme = await t.org()
})
afterAll(() => t.stop())

const message = (to: string, text = 'Hello.') =>
  `From: shop@example.test\r\nTo: ${to}\r\nSubject: Hi\r\n\r\n${text}\r\n`

const signedIn = async (port = t.port, key = acme.keys.live) => {
  const talking = await talk(port)
  onTestFinished(() => void talking.socket.destroy())
  expect(await talking.signIn(key)).toMatch(/^235 /)
  return talking
}

const envelope = async (say: (line: string) => Promise<string>, to: string) => {
  expect(await say('MAIL FROM:<shop@example.test>')).toMatch(/^250 /)
  expect(await say(`RCPT TO:<${to}>`)).toMatch(/^250 /)
  expect(await say('DATA')).toMatch(/^354 /)
}

const sentTo = async (to: string) => (await outboxOf(t, to)).length

describe('the conversation', () => {
  test('is greeted with what is on offer: size, pipelining, and signing in', async () => {
    const { reply, say, socket } = await talk(t.port, false)
    expect(await reply()).toBe('220 tidings.test ESMTP Tidings')
    const offered = (await say('EHLO client.example.test')).split('\r\n').map((line) => line.slice(4))
    expect(offered.slice(1)).toEqual(['PIPELINING', '8BITMIME', 'SMTPUTF8', 'AUTH PLAIN LOGIN', 'SIZE 10485760'])
    socket.destroy()
  })

  test('may be pipelined, message after message, each with its own id', async () => {
    const { reply, write } = await signedIn()
    const one = (n: number) => `MAIL FROM:<shop@example.test>\r\nRCPT TO:<pipe${n}@example.com>\r\nDATA\r\n`
    write(one(1))
    expect([await reply(), await reply(), await reply()].map((line) => line.slice(0, 3))).toEqual(['250', '250', '354'])
    write(`${message('pipe1@example.com')}.\r\n${one(2)}`)
    const first = await reply()
    expect(first).toMatch(/^250 2\.0\.0 msg_\w+$/)
    expect([await reply(), await reply(), await reply()].map((line) => line.slice(0, 3))).toEqual(['250', '250', '354'])
    write(`${message('pipe2@example.com')}.\r\nQUIT\r\n`)
    const second = await reply()
    expect(second).toMatch(/^250 2\.0\.0 msg_\w+$/)
    expect(second).not.toBe(first)
    expect(await reply()).toMatch(/^221 /)
    expect([await sentTo('pipe1@example.com'), await sentTo('pipe2@example.com')]).toEqual([1, 1])
  })

  test('has an order, and a refused step can be taken again', async () => {
    const talking = await talk(t.port, false)
    await talking.reply()
    expect(await talking.say('MAIL FROM:<shop@example.test>')).toMatch(/^503 /)
    await talking.say('EHLO client.example.test')
    expect(await talking.say('DATA')).toMatch(/^530 /)
    expect(await talking.signIn(acme.keys.live)).toMatch(/^235 /)
    expect(await talking.signIn(acme.keys.live)).toMatch(/^503 /)
    expect(await talking.say('RCPT TO:<a@example.com>')).toMatch(/^503 /)
    expect(await talking.say('DATA')).toMatch(/^503 /)
    expect(await talking.say('MAIL FROM:<shop@example.test>')).toMatch(/^250 /)
    expect(await talking.say('MAIL FROM:<shop@example.test>')).toMatch(/^503 /)
    expect(await talking.say('DATA')).toMatch(/^503 /)
    for (const bad of ['postmaster', 'a@[127.0.0.1]', 'a@localhost', 'a..b@example.com', 'a@example..com']) {
      expect(await talking.say(`RCPT TO:<${bad}>`)).toMatch(/^553 5\.1\.3 VALIDATION_ERROR to: /)
    }
    expect(await talking.say('WIZ please')).toMatch(/^500 /)
    expect(await talking.say('RCPT TO:<order@example.com>')).toMatch(/^250 /)
    expect(await talking.say('DATA')).toMatch(/^354 /)
    talking.write(message('order@example.com'))
    expect(await talking.say('.')).toMatch(/^250 2\.0\.0 /)
    expect(await sentTo('order@example.com')).toBe(1)
    talking.socket.destroy()
  })

  test('takes fifty recipients, and asks for the next ones in another message', async () => {
    const { say } = await signedIn()
    await say('MAIL FROM:<shop@example.test>')
    for (let i = 0; i < 50; i++) expect(await say(`RCPT TO:<r${i}@example.com>`)).toMatch(/^250 /)
    expect(await say('RCPT TO:<r50@example.com>')).toMatch(
      /^452 4\.5\.3 VALIDATION_ERROR to: Takes at most 50 .* \(req_\w+\)$/,
    )
    expect(await say('RCPT TO:<R7@example.com>')).toMatch(/^250 /)
    await say('DATA')
    const to = Array.from({ length: 51 }, (_, i) => `r${i}@example.com`).join(',\r\n ')
    const answer = await say(`${message(to)}.`)
    expect(answer).toMatch(/^250 2\.0\.0 /)
    expect(await sentTo('r49@example.com')).toBe(1)
    expect(await sentTo('r50@example.com')).toBe(0)
  })
})

describe('a message that does not arrive', () => {
  test('is not sent, however the connection ends', async () => {
    for (const end of ['destroy', 'end', 'resetAndDestroy'] as const) {
      const { say, write, socket, closed } = await signedIn()
      await envelope(say, 'dropped@example.com')
      write(message('dropped@example.com'))
      socket[end]()
      await closed
    }
    // A whole message behind the broken ones: whatever they left under way has had its turn.
    const { say, write } = await signedIn()
    await envelope(say, 'whole@example.com')
    write(message('whole@example.com'))
    expect(await say('.')).toMatch(/^250 /)
    expect(await sentTo('dropped@example.com')).toBe(0)
  })

  test('to be read while its client is there is not sent', async () => {
    // The first message of a service waits for a thread to start, and so for the client to be seen leaving.
    const service = await startSubmissionService()
    onTestFinished(service.stop)
    const org = await service.org()
    const { say, socket, closed } = await signedIn(service.port, org.keys.live)
    await envelope(say, 'left@example.com')
    socket.end(`${message('left@example.com')}.\r\n`)
    await closed
    const stays = await signedIn(service.port, org.keys.live)
    await envelope(stays.say, 'stayed@example.com')
    stays.write(message('stayed@example.com'))
    expect(await stays.say('.')).toMatch(/^250 /)
    expect(await outboxOf(service, 'left@example.com')).toEqual([])
    expect(await outboxOf(service, 'stayed@example.com')).toHaveLength(1)
  })

  test('because it is too large is refused by its announced size, or by its real one, and the next goes on', async () => {
    const { say, write, reply } = await signedIn()
    expect(await say('MAIL FROM:<shop@example.test> SIZE=10485761')).toMatch(/^552 /)
    await envelope(say, 'large@example.com')
    write(message('large@example.com'))
    const chunk = Buffer.alloc(1_048_576, 'x'.repeat(1_022).concat('\r\n'))
    for (let i = 0; i < 11; i++) write(chunk)
    write('\r\n.\r\n')
    expect(await reply()).toMatch(/^552 5\.3\.4 PAYLOAD_TOO_LARGE /)
    await envelope(say, 'small@example.com')
    write(message('small@example.com'))
    expect(await say('.')).toMatch(/^250 /)
    expect([await sentTo('large@example.com'), await sentTo('small@example.com')]).toEqual([0, 1])
  })

  test('because it is no message is refused, and the service goes on', async () => {
    const { say, write, reply } = await signedIn()
    const bodies: (string | Buffer)[] = [
      '',
      '\r\n',
      Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * 7_919) % 256)),
      'Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n'.repeat(300),
      `${'A'.repeat(300_000)}: x\r\n\r\nx`,
      '\n'.repeat(200_001),
      `From: ${'<'.repeat(50_000)}\r\nSubject: =?utf-8?b?${'A'.repeat(9_999)}?=\r\n\r\nx`,
      'From: a@example.test\r\nSubject: s\r\n__proto__: x\r\nconstructor: y\r\nX-Service-Metadata-__proto__: z\r\n\r\n',
      'From: shop@example.test\r\nSubject: a\r\nContent-Type: text/plain; charset=nonsense\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!!',
    ]
    for (const body of bodies) {
      await envelope(say, 'hostile@example.com')
      write(body)
      write('\r\n.\r\n')
      expect(await reply()).toMatch(/^(?:250 2\.0\.0|55[0-4] 5\.\d\.\d [A-Z_]+) /)
    }
    expect((await t.ask('GET', '/readyz')).status).toBe(200)
  })
})

test('bytes that are no conversation end theirs alone', async () => {
  const noise = [
    Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 31) % 256)),
    Buffer.alloc(70_000, 'A'),
    Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    Buffer.from('16030100c8010000c40303', 'hex'),
    Buffer.from('AUTH PLAIN !!!!\r\nAUTH LOGIN\r\n*\r\nAUTH\r\nAUTH NOSUCH x\r\nEHLO\r\nEHLO a\0b\r\n'),
  ]
  for (const bytes of noise) {
    const { write, socket, closed } = await talk(t.port)
    write(bytes)
    write('\r\nQUIT\r\n')
    socket.end()
    await closed
  }
  expect((await mailer(t.port, acme.keys.live)({ ...plainMail('after-noise@example.com') })).code).toBe(250)
})

const plainMail = (to: string) => ({ from: 'shop@example.test', to, subject: 'Hi', text: 'Hello.' })

describe('encryption', () => {
  test('with STARTTLS is offered and proven by the certificate; outside production it is not insisted on', async () => {
    const service = await startSubmissionService({ env: tlsFiles })
    onTestFinished(service.stop)
    const org = await service.org()
    const send = mailer(service.port, org.keys.live, { requireTLS: true, tls: { ca } })
    expect((await send(plainMail('starttls@example.com'))).code).toBe(250)
    expect((await mailer(service.port, org.keys.live)(plainMail('open@example.com'))).code).toBe(250)
    const untrusting = mailer(service.port, org.keys.live, { requireTLS: true })
    await expect(untrusting(plainMail('x@example.com'))).rejects.toThrow(/certificate/)
  })

  test('from the first byte where it is implicit', async () => {
    const service = await startSubmissionService({ env: { ...tlsFiles, SMTP_SUBMISSION_TLS: 'implicit' } })
    onTestFinished(service.stop)
    const org = await service.org()
    const send = mailer(service.port, org.keys.live, { secure: true, ignoreTLS: false, tls: { ca } })
    expect((await send(plainMail('implicit@example.com'))).code).toBe(250)
    const plain = await talk(service.port, false)
    plain.write('EHLO client.example.test\r\n')
    await plain.closed
  })

  test('is what production asks for before it takes a key, and what was said before it counts for nothing', async () => {
    const service = await startSubmissionService({ env: tlsFiles, config: { production: true } })
    onTestFinished(service.stop)
    const org = await service.org()
    const talking = await talk(service.port, false)
    await talking.reply()
    const offered = await talking.say('EHLO client.example.test')
    expect(offered).toContain('STARTTLS')
    expect(offered).not.toContain('AUTH')
    expect(await talking.signIn(org.keys.live)).toMatch(/^500 /)
    expect(await talking.say('MAIL FROM:<shop@example.test>')).toMatch(/^530 5\.7\.0 UNAUTHORIZED .*STARTTLS/)
    // What is pipelined behind STARTTLS came unencrypted and is never acted on.
    talking.write('STARTTLS\r\nMAIL FROM:<shop@example.test>\r\n')
    expect(await talking.reply()).toMatch(/^220 /)
    talking.socket.removeAllListeners('data')
    const secure = connectTls({ socket: talking.socket, ca, host: '127.0.0.1' })
    await once(secure, 'secureConnect')
    secure.write('EHLO client.example.test\r\n')
    const [inside] = await once(secure, 'data')
    expect(String(inside)).toMatch(/^250-tidings\.test/)
    expect(String(inside)).toContain('AUTH PLAIN LOGIN')
    secure.destroy()
    const send = mailer(service.port, org.keys.live, { requireTLS: true, tls: { ca } })
    expect((await send(plainMail('production@example.com'))).code).toBe(250)
  })
})

describe('stopping', () => {
  test('finishes a message that has arrived, lets go of who is idle and takes nothing new', async () => {
    const service = await startSubmissionService()
    const org = await service.org()
    const idle = await talk(service.port)
    const busy = await talk(service.port)
    await busy.signIn(org.keys.live)
    await envelope(busy.say, 'last@example.com')
    busy.write(message('last@example.com'))
    const stopping = service.service.stop()
    expect(await idle.reply()).toMatch(/^421 4\.3\.2 /)
    idle.socket.end()
    busy.write('.\r\n')
    expect(await busy.reply()).toMatch(/^250 2\.0\.0 msg_/)
    expect(await busy.reply()).toMatch(/^421 4\.3\.2 /)
    busy.socket.end()
    await stopping
    const kept = await service.database.sql("select id from messages where to_addresses = '{last@example.com}'")
    expect(kept).toHaveLength(1)
    await service.database.drop()
  })

  test('does not wait for a client that never ends its message', async () => {
    const service = await startSubmissionService()
    const org = await service.org()
    const stuck = await talk(service.port)
    await stuck.signIn(org.keys.live)
    await envelope(stuck.say, 'stuck@example.com')
    stuck.write('From: shop@example.test\r\n')
    const stopping = service.service.stop()
    expect(await stuck.reply()).toMatch(/^421 4\.3\.2 /)
    await stopping
    expect(await service.database.sql('select id from messages')).toEqual([])
    await service.database.drop()
  })
})

test('a provider that cannot be reached is a reason to come again, and the failed message is kept', async () => {
  const service = await startSubmissionService({ env: { EMAIL_PROVIDER: 'smtp', SMTP_URL: 'smtp://127.0.0.1:1' } })
  onTestFinished(service.stop)
  const org = await service.org()
  const sent = await mailer(service.port, org.keys.live)(plainMail('unreached@example.com'))
  expect(sent.response).toMatch(/^451 4\.3\.0 INTERNAL_ERROR .* msg_\w+ \(req_\w+\)$/)
  const id = sent.response.match(/msg_\w+/)?.[0]
  const kept = await service.ask('GET', `/api/v1/emails/${id}`, { key: org.keys.live })
  expect(kept.body).toMatchObject({ status: 'failed', to: ['unreached@example.com'] })
})

test('a certificate that cannot be read, and a port that is taken, are told at the start', async () => {
  const env = {
    SMTP_SUBMISSION_TLS_CERT: '/nowhere/cert.pem',
    SMTP_SUBMISSION_TLS_KEY: tlsFiles.SMTP_SUBMISSION_TLS_KEY,
  }
  await expect(startSubmissionService({ database: t.database, env })).rejects.toThrow(
    /^SMTP_SUBMISSION_TLS_CERT \/nowhere\/cert\.pem cannot be read/,
  )
  const taken = { SMTP_SUBMISSION_PORT: String(t.port) }
  await expect(startSubmissionService({ database: t.database, env: taken })).rejects.toThrow(
    `Port ${t.port} on 127.0.0.1 is taken. Set SMTP_SUBMISSION_PORT to a free one.`,
  )
})
