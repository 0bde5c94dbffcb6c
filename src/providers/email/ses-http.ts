/** HTTP handler for the AWS SDK. Its errors report whether the request was sent before it failed. */
import { Readable } from 'node:stream'
import { Agent, request } from 'undici'
import { chunksOf } from './chunks.ts'

/** The fields of the SDK's request that this handler uses. */
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

export class LostRequestFault extends Error {
  /** The last bytes were written, so the provider may have processed the request. */
  readonly sent: boolean

  constructor(sent: boolean, cause: unknown) {
    super('the connection was lost during a request to the provider', { cause })
    this.sent = sent
  }
}

export type HttpTimeouts = { connectMs: number; responseMs: number }

const queryOf = (query: SdkRequest['query']): string => {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of [value].flat()) params.append(name, one ?? '')
  }
  return params.size > 0 ? `?${params}` : ''
}

const urlOf = ({ protocol, hostname, port, path, query }: SdkRequest): string =>
  `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${queryOf(query)}`

/** A view of the body without a copy. The SDK has its own Uint8Array subclass, so the view is made from its buffer. */
const bytesOf = (body: string | Uint8Array = ''): Buffer =>
  typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength)

export const makeSdkHandler = ({ connectMs, responseMs }: HttpTimeouts) => {
  const agent = new Agent({
    connect: { timeout: connectMs },
    headersTimeout: responseMs,
    bodyTimeout: responseMs,
    // Idle connections are closed before the provider closes them: a request on a closing connection is uncertain.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 4_000,
    connections: 64,
  })

  const handle = async (sdkRequest: SdkRequest) => {
    const bytes = bytesOf(sdkRequest.body)
    let sent = false
    function* body() {
      let remaining = bytes.length
      for (const chunk of chunksOf(bytes)) {
        remaining -= chunk.length
        sent = remaining === 0
        yield chunk
      }
    }
    try {
      const response = await request(urlOf(sdkRequest), {
        method: sdkRequest.method as 'POST',
        dispatcher: agent,
        headers: { ...sdkRequest.headers, 'content-length': String(bytes.length) },
        body: Readable.from(body(), { objectMode: false }),
      })
      const headers = Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
      )
      return { response: { statusCode: response.statusCode, headers, body: await response.body.bytes() } }
    } catch (cause) {
      throw new LostRequestFault(sent, cause)
    }
  }

  return {
    handle,
    close: () => agent.close(),
    // The SDK requires these methods. There is nothing to configure.
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  }
}
