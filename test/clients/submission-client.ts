/** Test set-up for SMTP submission: a service that accepts mail, a mail client, and a raw SMTP connection. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createTransport } from 'nodemailer'
import type { Options } from 'nodemailer/lib/smtp-transport'
import { expect } from 'vitest'
import { type ServiceOptions, startTestService, type TestService } from '../service/service.ts'

const file = (name: string): string => fileURLToPath(new URL(`../servers/tls/${name}`, import.meta.url))

export const tlsFiles = {
  SMTP_SUBMISSION_TLS_CERT: file('cert.pem'),
  SMTP_SUBMISSION_TLS_KEY: file('key.pem'),
}
export const ca = readFileSync(tlsFiles.SMTP_SUBMISSION_TLS_CERT)

export const startSubmissionService = async (options: ServiceOptions = {}): Promise<TestService & { port: number }> => {
  const started = await startTestService({ ...options, env: { SMTP_SUBMISSION_PORT: '0', ...options.env } })
  return { ...started, port: started.service.submissionPort() as number }
}

export type Sent = { code: number; response: string; id: string }

/** A mail client that signs in with the key. */
export const mailer = (port: number, key: string | undefined, options: Options = {}) => {
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    ignoreTLS: options.requireTLS !== true,
    ...(key !== undefined && { auth: { user: 'tidings', pass: key } }),
    ...options,
  })
  return async (mail: Parameters<typeof transport.sendMail>[0]): Promise<Sent> => {
    try {
      const { response } = await transport.sendMail(mail)
      return { code: Number(response.slice(0, 3)), response, id: response.split(' ')[2] ?? '' }
    } catch (error) {
      const { responseCode, response } = error as { responseCode?: number; response?: string }
      if (responseCode === undefined) throw error
      return { code: responseCode, response: response ?? '', id: '' }
    } finally {
      transport.close()
    }
  }
}

export type SmtpConnection = {
  socket: Socket
  /** The next reply, with all of its lines. */
  reply(): Promise<string>
  /** Sends a line and returns the reply. */
  command(line: string): Promise<string>
  write(bytes: string | Buffer): void
  signIn(key: string): Promise<string>
  closed: Promise<unknown>
}

const lastLine = /^\d{3}(?: .*)?\r\n/m

/** Opens a connection from a loopback address, and sends EHLO unless `greet` is false. */
export const connectSmtp = async (port: number, greet = true, from = '127.0.0.1'): Promise<SmtpConnection> => {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  await once(socket, 'connect')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined)
  let received = ''
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1')
    socket.emit('received')
  })
  const reply = async (): Promise<string> => {
    for (;;) {
      const match = lastLine.exec(received)
      if (match) {
        const whole = received.slice(0, match.index + match[0].length)
        received = received.slice(whole.length)
        return whole.trimEnd()
      }
      if (socket.closed) return 'closed'
      await Promise.race([once(socket, 'received'), closed])
    }
  }
  const command = (line: string): Promise<string> => {
    socket.write(`${line}\r\n`)
    return reply()
  }
  if (greet) {
    await reply()
    await command('EHLO client.example.test')
  }
  return {
    socket,
    reply,
    command,
    closed,
    write: (bytes) => socket.write(bytes),
    signIn: (key) => command(`AUTH PLAIN ${Buffer.from(`\0tidings\0${key}`).toString('base64')}`),
  }
}

/** A message as its bytes, without the final dot. */
export const message = (to: string, text = 'Hello.') =>
  `From: shop@example.test\r\nTo: ${to}\r\nSubject: Hi\r\n\r\n${text}\r\n`

/** Sends the envelope and DATA. The test then writes the message. */
export const startMessage = async (command: (line: string) => Promise<string>, to: string) => {
  expect(await command('MAIL FROM:<shop@example.test>')).toMatch(/^250 /)
  expect(await command(`RCPT TO:<${to}>`)).toMatch(/^250 /)
  expect(await command('DATA')).toMatch(/^354 /)
}

/** The outbox entries of a recipient, newest first. */
export const outboxOf = async (t: TestService, to: string) => {
  const { body } = await t.ask('GET', `/api/dev/outbox?channel=email&to=${encodeURIComponent(to)}`)
  return body.data as Record<string, unknown>[]
}
