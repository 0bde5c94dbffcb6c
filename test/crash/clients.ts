/** Clients that repeat a request under its key until they know its result, as a careful program does. */
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { Operation } from './operations.ts'

export type Item = { id: string | null; status: 'sent' | 'failed'; error: { code: string; message: string } | null }

/** How an operation ended. `unknown` is one that has no key and got no response. */
export type Outcome = {
  operation: Operation
  result: 'acknowledged' | 'refused' | 'unknown' | 'unfinished'
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: the body of any response
  body: any
  /** Requests that it took, and how long. */
  attempts: number
  tookMs: number
}

export type Clients = {
  outcomes: Outcome[]
  /** Responses by status and code, and requests without one. */
  responses: Record<string, number>
  /** Sends until `stop` is called. Each client finishes its operation. */
  drive(next: () => Operation, clients: number): { stop(): Promise<void> }
  /** Repeats an operation until it has a result. */
  perform(operation: Operation, forMs?: number): Promise<Outcome>
  close(): Promise<void>
}

type Reply = { status: number; body: Outcome['body'] }

const firstPauseMs = 100
const longestPauseMs = 1_000
/** Much longer than a key may stay locked after its process died. */
const patienceMs = 120_000
/** An interrupted blast keeps its key for 330 seconds. It is finished after the clock has moved. */
const patienceWithBlastsMs = 20_000

const isFinal = ({ status, body }: Reply): boolean => {
  if (status < 500) return status !== 409 || body?.error?.code !== 'IDEMPOTENCY_IN_FLIGHT'
  // The provider has the message, and the caller is asked not to repeat the request.
  return /Do not send it again/.test(body?.error?.message ?? '') || body?.error?.code === 'AUDIENCE_SEND_INCOMPLETE'
}

export const makeClients = (urls: readonly string[], apiKey: string): Clients => {
  const agent = new Agent({ connections: 64, keepAliveTimeout: 1_000 })
  const outcomes: Outcome[] = []
  const responses: Record<string, number> = {}

  const ask = async ({ path, body, key }: Operation): Promise<Reply | undefined> => {
    const url = urls[Math.floor(Math.random() * urls.length)]
    try {
      const response = await request(`${url}${path}`, {
        method: 'POST',
        dispatcher: agent,
        headersTimeout: 60_000,
        bodyTimeout: 60_000,
        headers: {
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        body: JSON.stringify(body),
      })
      return { status: response.statusCode, body: await response.body.json() }
    } catch {
      return undefined
    }
  }

  const count = (reply: Reply | undefined): void => {
    const name = reply ? `${reply.status} ${reply.body?.error?.code ?? ''}`.trim() : 'no response'
    responses[name] = (responses[name] ?? 0) + 1
  }

  const perform = async (operation: Operation, forMs = patienceMs): Promise<Outcome> => {
    const startedAt = performance.now()
    const ended = (result: Outcome['result'], attempts: number, reply?: Reply): Outcome => ({
      operation,
      result,
      status: reply?.status ?? 0,
      body: reply?.body,
      attempts,
      tookMs: performance.now() - startedAt,
    })
    for (let attempts = 1; ; attempts++) {
      const reply = await ask(operation)
      count(reply)
      if (reply && reply.status < 300) return ended('acknowledged', attempts, reply)
      if (reply && isFinal(reply)) return ended('refused', attempts, reply)
      if (operation.key === undefined) return ended('unknown', attempts, reply)
      if (performance.now() - startedAt > forMs) return ended('unfinished', attempts, reply)
      await wait(Math.min(firstPauseMs * 2 ** (attempts - 1), longestPauseMs) * (0.5 + Math.random() / 2))
    }
  }

  return {
    outcomes,
    responses,
    perform,
    drive: (next, clients) => {
      let stopping = false
      const client = async (): Promise<void> => {
        while (!stopping) {
          const operation = next()
          outcomes.push(await perform(operation, operation.way === 'blast' ? patienceWithBlastsMs : patienceMs))
          await wait(Math.random() * 150)
        }
      }
      const running = Promise.all(Array.from({ length: clients }, client))
      return {
        stop: async () => {
          stopping = true
          await running
        },
      }
    },
    close: () => agent.destroy(),
  }
}
