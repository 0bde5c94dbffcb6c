/** Sends a single request through a connection pool, with limits on time and size. */
import type { Dispatcher, Pool } from 'undici'
import { OutgoingFault } from './check-address.ts'

export type OutgoingRequest = {
  method: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string | Buffer
  /** Covers name resolution, the connection, the headers and the returned part of the body. */
  timeoutMs: number
  /** Maximum size of the returned body. The agent does not read further and closes the connection. */
  maxBytes: number
  signal?: AbortSignal
}

export type OutgoingResponse = {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  truncated: boolean
}

const faultOf = (error: Error & { code?: string }): OutgoingFault =>
  error instanceof OutgoingFault
    ? error
    : new OutgoingFault('connection', `${error.code ?? ''} ${error.message}`.trim(), { cause: error })

const contentLength = (headers: Record<string, string | string[] | undefined>): number | undefined => {
  const value = headers['content-length']
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined
}

/** How the timers and the abort signal of a request act on it. */
export type ExchangeControl = {
  fail(error: Error): void
  /** Whether the request has a connection. */
  isStarted(): boolean
  /** Resolves with the truncated body when `maxBytes` have arrived. Returns false when fewer have. */
  finishIfFull(): boolean
}

/** Sends one request through a pool, and aborts it once `maxBytes` of the body have arrived. */
export const exchange = (
  pool: Pool,
  options: Dispatcher.DispatchOptions,
  { maxBytes }: OutgoingRequest,
  onCreated: (control: ExchangeControl) => void,
): Promise<OutgoingResponse> =>
  new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let abortReason: Error | undefined
    let response: OutgoingResponse | undefined
    let receivedBytes = 0
    const chunks: Buffer[] = []

    const abort = (reason: Error): void => {
      abortReason ??= reason
      controller?.abort(reason)
    }
    const finish = (truncated: boolean): void => {
      if (response) resolve({ ...response, body: Buffer.concat(chunks), truncated })
    }
    const finishTruncated = (): void => {
      finish(true)
      abort(new Error('response body exceeds the limit'))
    }

    onCreated({
      fail: (error) => {
        reject(error)
        abort(error)
      },
      isStarted: () => controller !== undefined,
      finishIfFull: () => {
        if (!response || receivedBytes < maxBytes) return false
        finishTruncated()
        return true
      },
    })

    pool.dispatch(options, {
      onRequestStart: (started) => {
        controller = started
        // Aborted while it waited for a connection, so it must not be sent.
        if (abortReason) started.abort(abortReason)
      },
      onResponseStart: (_, status, headers) => {
        if (status < 200 || abortReason) return
        response = { status, headers, body: Buffer.alloc(0), truncated: false }
      },
      onResponseData: (_, chunk) => {
        if (abortReason) return
        const remaining = maxBytes - receivedBytes
        if (remaining > 0) chunks.push(Buffer.from(chunk.subarray(0, remaining)))
        receivedBytes += chunk.length
        const expected = contentLength(response?.headers ?? {}) ?? 0
        if (receivedBytes > maxBytes || (receivedBytes === maxBytes && expected > receivedBytes)) finishTruncated()
      },
      onResponseEnd: () => finish(false),
      onResponseError: (_, error) => reject(faultOf(error)),
    })
  })
