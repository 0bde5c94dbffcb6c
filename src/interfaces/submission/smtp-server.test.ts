import { once } from 'node:events'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  ca,
  connectSmtp,
  mailer,
  message,
  outboxOf,
  startMessage,
  startSubmissionService,
  tlsFiles,
} from '../../../test/clients/submission-client.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'

let t: Awaited<ReturnType<typeof startSubmissionService>>
let acme: CreatedOrg

beforeAll(async () => {
  t = await startSubmissionService()
  acme = await t.org()
})
afterAll(() => t.stop())

const signedIn = async (port = t.port, key = acme.keys.live) => {
  const connection = await connectSmtp(port)
  onTestFinished(() => void connection.socket.destroy())
  expect(await connection.signIn(key)).toMatch(/^235 /)
  return connection
}

const sentTo = async (to: string) => (await outboxOf(t, to)).length

describe('an SMTP session', () => {
  test('starts with a greeting and the supported extensions', async () => {
    const { reply, command, socket } = await connectSmtp(t.port, false)
    expect(await reply()).toBe('220 tidings.test ESMTP Tidings')
    const offered = (await command('EHLO client.example.test')).split('\r\n').map((line) => line.slice(4))
    expect(offered.slice(1)).toEqual(['PIPELINING', '8BITMIME', 'SMTPUTF8', 'AUTH PLAIN LOGIN', 'SIZE 10485760'])
    socket.destroy()
  })

  test('accepts pipelined messages and replies with the id of each', async () => {
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

  test('rejects commands that are out of order, and continues after a rejected command', async () => {
    const connection = await connectSmtp(t.port, false)
    await connection.reply()
    expect(await connection.command('MAIL FROM:<shop@example.test>')).toMatch(/^503 /)
    await connection.command('EHLO client.example.test')
    expect(await connection.command('DATA')).toMatch(/^530 /)
    expect(await connection.signIn(acme.keys.live)).toMatch(/^235 /)
    expect(await connection.signIn(acme.keys.live)).toMatch(/^503 /)
    expect(await connection.command('RCPT TO:<a@example.com>')).toMatch(/^503 /)
    expect(await connection.command('DATA')).toMatch(/^503 /)
    expect(await connection.command('MAIL FROM:<shop@example.test>')).toMatch(/^250 /)
    expect(await connection.command('MAIL FROM:<shop@example.test>')).toMatch(/^503 /)
    expect(await connection.command('DATA')).toMatch(/^503 /)
    for (const bad of ['postmaster', 'a@[127.0.0.1]', 'a@localhost', 'a..b@example.com', 'a@example..com']) {
      expect(await connection.command(`RCPT TO:<${bad}>`)).toMatch(/^553 5\.1\.3 VALIDATION_ERROR to: /)
    }
    expect(await connection.command('WIZ please')).toMatch(/^500 /)
    expect(await connection.command('RCPT TO:<order@example.com>')).toMatch(/^250 /)
    expect(await connection.command('DATA')).toMatch(/^354 /)
    connection.write(message('order@example.com'))
    expect(await connection.command('.')).toMatch(/^250 2\.0\.0 /)
    expect(await sentTo('order@example.com')).toBe(1)
    connection.socket.destroy()
  })

  test('accepts fifty recipients and rejects further ones with a temporary error', async () => {
    const { command } = await signedIn()
    await command('MAIL FROM:<shop@example.test>')
    for (let i = 0; i < 50; i++) expect(await command(`RCPT TO:<r${i}@example.com>`)).toMatch(/^250 /)
    expect(await command('RCPT TO:<r50@example.com>')).toMatch(
      /^452 4\.5\.3 VALIDATION_ERROR to: Must be at most 50 .* \(req_\w+\)$/,
    )
    expect(await command('RCPT TO:<R7@example.com>')).toMatch(/^250 /)
    await command('DATA')
    const to = Array.from({ length: 51 }, (_, i) => `r${i}@example.com`).join(',\r\n ')
    expect(await command(`${message(to)}.`)).toMatch(/^250 2\.0\.0 /)
    expect(await sentTo('r49@example.com')).toBe(1)
    expect(await sentTo('r50@example.com')).toBe(0)
  })
})

describe('an incomplete or invalid message', () => {
  test('is not sent when the connection ends before the message does', async () => {
    for (const end of ['destroy', 'end', 'resetAndDestroy'] as const) {
      const { command, write, socket, closed } = await signedIn()
      await startMessage(command, 'dropped@example.com')
      write(message('dropped@example.com'))
      socket[end]()
      await closed
    }
    // Once a complete message is accepted, any work that the incomplete ones left behind has finished.
    const { command, write } = await signedIn()
    await startMessage(command, 'complete@example.com')
    write(message('complete@example.com'))
    expect(await command('.')).toMatch(/^250 /)
    expect(await sentTo('dropped@example.com')).toBe(0)
  })

  test('is not sent when its client disconnects before the message is parsed', async () => {
    // The first message of a service waits for a thread to start, which leaves time to notice the disconnect.
    const service = await startSubmissionService()
    onTestFinished(service.stop)
    const org = await service.org()
    const { command, socket, closed } = await signedIn(service.port, org.keys.live)
    await startMessage(command, 'left@example.com')
    socket.end(`${message('left@example.com')}.\r\n`)
    await closed
    const stays = await signedIn(service.port, org.keys.live)
    await startMessage(stays.command, 'stayed@example.com')
    stays.write(message('stayed@example.com'))
    expect(await stays.command('.')).toMatch(/^250 /)
    expect(await outboxOf(service, 'left@example.com')).toEqual([])
    expect(await outboxOf(service, 'stayed@example.com')).toHaveLength(1)
  })

  test('is rejected when its declared or actual size is too large, and the next message is accepted', async () => {
    const { command, write, reply } = await signedIn()
    expect(await command('MAIL FROM:<shop@example.test> SIZE=10485761')).toMatch(/^552 /)
    await startMessage(command, 'large@example.com')
    write(message('large@example.com'))
    const chunk = Buffer.alloc(1_048_576, 'x'.repeat(1_022).concat('\r\n'))
    for (let i = 0; i < 11; i++) write(chunk)
    write('\r\n.\r\n')
    expect(await reply()).toMatch(/^552 5\.3\.4 PAYLOAD_TOO_LARGE /)
    await startMessage(command, 'small@example.com')
    write(message('small@example.com'))
    expect(await command('.')).toMatch(/^250 /)
    expect([await sentTo('large@example.com'), await sentTo('small@example.com')]).toEqual([0, 1])
  })

  test('is rejected when it cannot be parsed, and the service stays ready', async () => {
    const { command, write, reply } = await signedIn()
    const bodies: (string | Buffer)[] = [
      '',
      '\r\n',
      Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * 7_919) % 256)),
      'Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n'.repeat(300),
      `${'A'.repeat(300_000)}: x\r\n\r\nx`,
      '\r\n'.repeat(200_001),
      `From: ${'<'.repeat(50_000)}\r\nSubject: =?utf-8?b?${'A'.repeat(9_999)}?=\r\n\r\nx`,
      'From: a@example.test\r\nSubject: s\r\n__proto__: x\r\nconstructor: y\r\nX-Service-Metadata-__proto__: z\r\n\r\n',
      'From: shop@example.test\r\nSubject: a\r\nContent-Type: text/plain; charset=nonsense\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!!',
    ]
    for (const body of bodies) {
      await startMessage(command, 'hostile@example.com')
      write(body)
      write('\r\n.\r\n')
      expect(await reply()).toMatch(/^(?:250 2\.0\.0|55[0-4] 5\.\d\.\d [A-Z_]+) /)
    }
    expect((await t.ask('GET', '/readyz')).status).toBe(200)
  })
})

test('bytes that are not SMTP end only their own connection', async () => {
  const inputs = [
    Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 31) % 256)),
    Buffer.alloc(70_000, 'A'),
    Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    Buffer.from('16030100c8010000c40303', 'hex'),
    Buffer.from('AUTH PLAIN !!!!\r\nAUTH LOGIN\r\n*\r\nAUTH\r\nAUTH NOSUCH x\r\nEHLO\r\nEHLO a\0b\r\n'),
  ]
  for (const bytes of inputs) {
    const { write, socket, closed } = await connectSmtp(t.port)
    write(bytes)
    write('\r\nQUIT\r\n')
    socket.end()
    await closed
  }
  expect((await mailer(t.port, acme.keys.live)({ ...plainMail('after-noise@example.com') })).code).toBe(250)
})

const plainMail = (to: string) => ({ from: 'shop@example.test', to, subject: 'Hi', text: 'Hello.' })

describe('encryption', () => {
  test('with STARTTLS is offered with the configured certificate, and is optional outside production', async () => {
    const service = await startSubmissionService({ env: tlsFiles })
    onTestFinished(service.stop)
    const org = await service.org()
    const send = mailer(service.port, org.keys.live, { requireTLS: true, tls: { ca } })
    expect((await send(plainMail('starttls@example.com'))).code).toBe(250)
    expect((await mailer(service.port, org.keys.live)(plainMail('open@example.com'))).code).toBe(250)
    const sendWithoutCa = mailer(service.port, org.keys.live, { requireTLS: true })
    await expect(sendWithoutCa(plainMail('x@example.com'))).rejects.toThrow(/certificate/)
  })

  test('starts with the first byte when TLS is implicit', async () => {
    const service = await startSubmissionService({ env: { ...tlsFiles, SMTP_SUBMISSION_TLS: 'implicit' } })
    onTestFinished(service.stop)
    const org = await service.org()
    const send = mailer(service.port, org.keys.live, { secure: true, ignoreTLS: false, tls: { ca } })
    expect((await send(plainMail('implicit@example.com'))).code).toBe(250)
    const plain = await connectSmtp(service.port, false)
    plain.write('EHLO client.example.test\r\n')
    await plain.closed
  })

  test('is required before AUTH in production, and commands pipelined after STARTTLS are discarded', async () => {
    const service = await startSubmissionService({ env: tlsFiles, config: { production: true } })
    onTestFinished(service.stop)
    const org = await service.org()
    const connection = await connectSmtp(service.port, false)
    await connection.reply()
    const offered = await connection.command('EHLO client.example.test')
    expect(offered).toContain('STARTTLS')
    expect(offered).not.toContain('AUTH')
    expect(await connection.signIn(org.keys.live)).toMatch(/^500 /)
    expect(await connection.command('MAIL FROM:<shop@example.test>')).toMatch(/^530 5\.7\.0 UNAUTHORIZED .*STARTTLS/)
    // The command after STARTTLS arrived unencrypted, so the server must not act on it.
    connection.write('STARTTLS\r\nMAIL FROM:<shop@example.test>\r\n')
    expect(await connection.reply()).toMatch(/^220 /)
    connection.socket.removeAllListeners('data')
    const secure = connectTls({ socket: connection.socket, ca, host: '127.0.0.1' })
    await once(secure, 'secureConnect')
    secure.write('EHLO client.example.test\r\n')
    const [encrypted] = await once(secure, 'data')
    expect(String(encrypted)).toMatch(/^250-tidings\.test/)
    expect(String(encrypted)).toContain('AUTH PLAIN LOGIN')
    secure.destroy()
    const send = mailer(service.port, org.keys.live, { requireTLS: true, tls: { ca } })
    expect((await send(plainMail('production@example.com'))).code).toBe(250)
  })
})

describe('stopping', () => {
  test('completes a message that is arriving and disconnects idle clients', async () => {
    const service = await startSubmissionService()
    const org = await service.org()
    const idle = await connectSmtp(service.port)
    const busy = await connectSmtp(service.port)
    await busy.signIn(org.keys.live)
    await startMessage(busy.command, 'last@example.com')
    busy.write(message('last@example.com'))
    const stopping = service.service.stop()
    expect(await idle.reply()).toMatch(/^421 4\.3\.2 /)
    idle.socket.end()
    busy.write('.\r\n')
    expect(await busy.reply()).toMatch(/^250 2\.0\.0 msg_/)
    expect(await busy.reply()).toMatch(/^421 4\.3\.2 /)
    busy.socket.end()
    await stopping
    const stored = await service.database.sql("select id from messages where to_addresses = '{last@example.com}'")
    expect(stored).toHaveLength(1)
    await service.database.drop()
  })

  test('does not wait for a client that never ends its message', async () => {
    const service = await startSubmissionService()
    const org = await service.org()
    const stuck = await connectSmtp(service.port)
    await stuck.signIn(org.keys.live)
    await startMessage(stuck.command, 'stuck@example.com')
    stuck.write('From: shop@example.test\r\n')
    const stopping = service.service.stop()
    expect(await stuck.reply()).toMatch(/^421 4\.3\.2 /)
    await stopping
    expect(await service.database.sql('select id from messages')).toEqual([])
    await service.database.drop()
  })
})

test('an unreachable provider is a temporary error, and the message is stored as failed', async () => {
  const service = await startSubmissionService({ env: { EMAIL_PROVIDER: 'smtp', SMTP_URL: 'smtp://127.0.0.1:1' } })
  onTestFinished(service.stop)
  const org = await service.org()
  const sent = await mailer(service.port, org.keys.live)(plainMail('unreached@example.com'))
  expect(sent.response).toMatch(/^451 4\.3\.0 INTERNAL_ERROR .* msg_\w+ \(req_\w+\)$/)
  const id = sent.response.match(/msg_\w+/)?.[0]
  const stored = await service.ask('GET', `/api/v1/emails/${id}`, { key: org.keys.live })
  expect(stored.body).toMatchObject({ status: 'failed', to: ['unreached@example.com'] })
})

test('an unreadable certificate and a port in use are reported at startup', async () => {
  const env = {
    SMTP_SUBMISSION_TLS_CERT: '/nowhere/cert.pem',
    SMTP_SUBMISSION_TLS_KEY: tlsFiles.SMTP_SUBMISSION_TLS_KEY,
  }
  await expect(startSubmissionService({ database: t.database, env })).rejects.toThrow(
    /^SMTP_SUBMISSION_TLS_CERT \/nowhere\/cert\.pem cannot be read/,
  )
  const portInUse = { SMTP_SUBMISSION_PORT: String(t.port) }
  await expect(startSubmissionService({ database: t.database, env: portInUse })).rejects.toThrow(
    `Port ${t.port} on 127.0.0.1 is already in use. Set SMTP_SUBMISSION_PORT to a free port.`,
  )
})
