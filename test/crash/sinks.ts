/** The other parties of the crash run: a mail relay, a text message provider and a webhook receiver. They are never killed. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'

/** What a provider was handed: who gets it, under which id, and the code in its text, if it has one. */
export type Arrival = { recipient: string; id: string; code: string | undefined; at: number }

export type Sinks = {
  /** For the environment of the service. */
  env: Record<string, string>
  hookUrl: string
  /** In the order in which they were accepted. */
  arrivals: Arrival[]
  /** How often each delivery arrived, by its id. */
  deliveries: Map<string, number>
  close(): Promise<void>
}

const codeIn = (text: string): string | undefined => /code is (\d{6})/.exec(text)?.[1]

const startMailRelay = async (arrivals: Arrival[]) => {
  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    disableReverseLookup: true,
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const mail = Buffer.concat(chunks).toString('utf8')
        const id = /^Message-ID: <([^@>]+)@/im.exec(mail)?.[1] ?? ''
        for (const { address } of session.envelope.rcptTo) {
          arrivals.push({ recipient: address, id, code: codeIn(mail), at: Date.now() })
        }
        done()
      })
    },
  })
  server.on('error', () => undefined)
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  return {
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}?tls=off`,
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  }
}

const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

const startHttp = async (answer: (text: string) => string): Promise<{ url: string; close(): Promise<void> }> => {
  const sockets = new Set<Socket>()
  const server: Server = createServer((request, response) => {
    textOf(request).then(
      (text) => response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(answer(text)),
      // The service was killed while it wrote the request.
      () => response.destroy(),
    )
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export const startSinks = async (): Promise<Sinks> => {
  const arrivals: Arrival[] = []
  const deliveries = new Map<string, number>()
  const relay = await startMailRelay(arrivals)
  const texts = await startHttp((body) => {
    const { DestinationPhoneNumber, MessageBody = '', Context = {} } = JSON.parse(body)
    const id = Context['tidings-message']
    arrivals.push({ recipient: DestinationPhoneNumber, id, code: codeIn(MessageBody), at: Date.now() })
    return JSON.stringify({ MessageId: `sms-${arrivals.length}` })
  })
  const hook = await startHttp((body) => {
    const { delivery_id: id } = JSON.parse(body)
    deliveries.set(id, (deliveries.get(id) ?? 0) + 1)
    return ''
  })
  return {
    env: {
      EMAIL_PROVIDER: 'smtp',
      SMTP_URL: relay.url,
      SMS_PROVIDER: 'aws',
      AWS_ENDPOINT_URL: texts.url,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    },
    hookUrl: `${hook.url}/hook`,
    arrivals,
    deliveries,
    close: async () => {
      await Promise.all([relay.close(), texts.close(), hook.close()])
    },
  }
}
