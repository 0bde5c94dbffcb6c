/** Submits mail over SMTP like an ordinary mail client: one connection per client, one command at a time. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { workBench } from './work.ts'

export type SmtpClientParams = { port: number; key: string }

const letterTo = (to: string): string =>
  [
    'From: Bench <hello@example.test>',
    `To: ${to}`,
    'Subject: A receipt',
    'MIME-Version: 1.0',
    'Content-Type: multipart/alternative; boundary="part"',
    '',
    '--part',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'Thank you, Ada.',
    '--part',
    'Content-Type: text/html; charset=utf-8',
    '',
    '<p>Thank you, <b>Ada</b>.</p>',
    '--part--',
    '.',
    '',
  ].join('\r\n')

type Session = { command(text: string, expected: string): Promise<void>; socket: Socket }

const openSession = async ({ port, key }: SmtpClientParams): Promise<Session> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  let received = ''
  let settle: ((reply: string | Error) => void) | undefined
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    received += text
    const end = /(?:^|\r\n)\d{3} [^\r\n]*\r\n$/.test(received)
    if (!end) return
    const reply = received
    received = ''
    settle?.(reply)
  })
  socket.on('error', (error) => settle?.(error))
  socket.on('close', () => settle?.(new Error('the server closed the connection')))
  const command = (text: string, expected: string): Promise<void> =>
    new Promise((resolve, reject) => {
      settle = (reply) => {
        if (typeof reply === 'string' && reply.startsWith(expected)) resolve()
        else reject(reply instanceof Error ? reply : new Error(reply))
      }
      if (text) socket.write(text)
    })
  await command('', '220')
  await command('EHLO bench.example.test\r\n', '250')
  const credentials = Buffer.from(`\0bench\0${key}`).toString('base64')
  await command(`AUTH PLAIN ${credentials}\r\n`, '235')
  return { command, socket }
}

workBench(async (params: SmtpClientParams) => {
  const sessions = new Map<number, Promise<Session>>()
  let count = 0
  return {
    one: async (client) => {
      const opened = sessions.get(client) ?? openSession(params)
      sessions.set(client, opened)
      const { command } = await opened
      const to = `user${count++}@example.com`
      await command('MAIL FROM:<hello@example.test>\r\n', '250')
      await command(`RCPT TO:<${to}>\r\n`, '250')
      await command('DATA\r\n', '354')
      await command(letterTo(to), '250')
    },
    close: async () => {
      for (const opened of sessions.values()) (await opened).socket.destroy()
    },
  }
})
