/** The mail relay that the service hands its emails to. It can be made to fail. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

/** `down` refuses connections, `busy` throttles, `broken` answers with a temporary error, `slow` takes a second. */
export const relayFaults = ['down', 'busy', 'broken', 'slow'] as const
export type RelayFault = (typeof relayFaults)[number]

export type Relay = {
  url: string
  /** How often each message arrived, by its id. */
  arrived: Map<string, number>
  /** The code that was mailed to an address, once. */
  takeCode(address: string): string | undefined
  fail(fault: RelayFault | undefined): void
  close(): Promise<void>
}

const refusal = (responseCode: number, message: string): Error => Object.assign(new Error(message), { responseCode })

const maxBytes = 1_000_000

export const startRelay = async (): Promise<Relay> => {
  const arrived = new Map<string, number>()
  const codes = new Map<string, string>()
  let fault: RelayFault | undefined

  const store = (mail: string, recipients: string[]): void => {
    const id = /^X-Service-Message-Id: (\S+)/im.exec(mail)?.[1]
    if (id) arrived.set(id, (arrived.get(id) ?? 0) + 1)
    const code = /code is (\d{6})/.exec(mail)?.[1]
    if (code) for (const address of recipients) codes.set(address, code)
  }

  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    disableReverseLookup: true,
    size: maxBytes,
    onConnect: (_, done) => done(fault === 'down' ? refusal(421, 'Down for maintenance') : null),
    onMailFrom: (_, __, done) => {
      if (fault === 'busy') return done(refusal(451, 'Too many messages, slow down'))
      if (fault === 'broken') return done(refusal(451, 'Disk full'))
      if (fault === 'down') return done(refusal(421, 'Down for maintenance'))
      return done()
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        store(
          Buffer.concat(chunks).toString('utf8'),
          session.envelope.rcptTo.map(({ address }) => address),
        )
        if (fault === 'slow') setTimeout(done, 1_000)
        else done()
      })
    },
  })
  server.on('error', () => undefined)
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  return {
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}?tls=off`,
    arrived,
    takeCode: (address) => {
      const code = codes.get(address)
      codes.delete(address)
      return code
    },
    fail: (next) => {
      fault = next
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}
