/** The AWS SDK's way to the network, told apart by whether a request had gone out when it failed. */
import { Readable } from 'node:stream'
import { Agent, request } from 'undici'
import { pieces } from './pieces.ts'

/** What the SDK hands to its HTTP handler, as far as it is used here. */
type SdkRequest = {
  method: string
  protocol: string
  hostname: string
  port?: number
  path: string
  query?: Record<string, string | string[] | null>
  headers: Record<string, string>
  body?: string | Uint8Array
}

export class LostRequest extends Error {
  /** Whether its last bytes were on their way: then it may have been carried out. */
  readonly sent: boolean

  constructor(sent: boolean, cause: unknown) {
    super('the request to the provider was lost', { cause })
    this.sent = sent
  }
}

export type HttpPatience = { connectMs: number; answerMs: number }

const queryOf = (query: SdkRequest['query']): string => {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of [value].flat()) params.append(name, one ?? '')
  }
  return params.size > 0 ? `?${params}` : ''
}

const addressOf = ({ protocol, hostname, port, path, query }: SdkRequest): string =>
  `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${queryOf(query)}`

/** Without a copy, and without asking the SDK's own kind of array to be anything else. */
const bytesOf = (body: string | Uint8Array = ''): Buffer =>
  typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength)

export const makeSdkHandler = ({ connectMs, answerMs }: HttpPatience) => {
  const agent = new Agent({
    connect: { timeout: connectMs },
    headersTimeout: answerMs,
    bodyTimeout: answerMs,
    // Ours go before the other side lets them go: a request on a dying connection is one nobody can judge.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 4_000,
    connections: 64,
  })

  const handle = async (asked: SdkRequest) => {
    const bytes = bytesOf(asked.body)
    let sent = false
    function* body() {
      let left = bytes.length
      for (const piece of pieces(bytes)) {
        left -= piece.length
        sent = left === 0
        yield piece
      }
    }
    try {
      const answer = await request(addressOf(asked), {
        method: asked.method as 'POST',
        dispatcher: agent,
        headers: { ...asked.headers, 'content-length': String(bytes.length) },
        body: Readable.from(body(), { objectMode: false }),
      })
      const headers = Object.fromEntries(
        Object.entries(answer.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
      )
      return { response: { statusCode: answer.statusCode, headers, body: await answer.body.bytes() } }
    } catch (cause) {
      throw new LostRequest(sent, cause)
    }
  }

  return {
    handle,
    close: () => agent.close(),
    // The SDK asks its handlers for these; there is nothing to configure.
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  }
}
