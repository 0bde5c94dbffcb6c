/** Questions and answers between the primary and its child processes, over the channel that Node opens at the fork. */

/** A process at the other end of a channel: `process` in a child, a worker of `node:cluster` in the primary. */
type WireEnd = {
  send(message: object): void
  onMessage(listener: (message: unknown) => void): void
}

type WireMessage = {
  /** Distinguishes our messages from those of Node and of libraries. */
  tidings: 'ask' | 'answer' | 'notice'
  kind: string
  id: number
  body: unknown
}

const isWireMessage = (message: unknown): message is WireMessage =>
  typeof message === 'object' && message !== null && 'tidings' in message

export const openWire = (end: WireEnd) => {
  const waiting = new Map<number, (body: unknown) => void>()
  const answers = new Map<string, (body: never) => unknown>()
  let lastId = 0
  let closed = false

  const send = (message: WireMessage): void => {
    if (!closed) end.send(message)
  }

  const answer = async ({ kind, id, body }: WireMessage): Promise<void> => {
    // An answer that fails is no answer. Its cause is logged where it occurred.
    const result = await Promise.resolve()
      .then(() => answers.get(kind)?.(body as never))
      .catch(() => undefined)
    send({ tidings: 'answer', kind, id, body: result })
  }

  end.onMessage((message) => {
    if (!isWireMessage(message)) return
    if (message.tidings === 'ask') void answer(message)
    else if (message.tidings === 'notice') void answers.get(message.kind)?.(message.body as never)
    else {
      waiting.get(message.id)?.(message.body)
      waiting.delete(message.id)
    }
  })

  return {
    /** Resolves with the answer, or with undefined if the other process ends or knows no answer. */
    ask: <T>(kind: string, body?: unknown): Promise<T | undefined> =>
      new Promise((resolve) => {
        if (closed) return resolve(undefined)
        lastId += 1
        waiting.set(lastId, resolve as (body: unknown) => void)
        send({ tidings: 'ask', kind, id: lastId, body })
      }),
    notify: (kind: string, body?: unknown): void => send({ tidings: 'notice', kind, id: 0, body }),
    /** Answers questions of this kind, and receives its notices. */
    on: (kind: string, listener: (body: never) => unknown): void => {
      answers.set(kind, listener)
    },
    /** The other process has ended: nothing is answered any more. */
    close: (): void => {
      closed = true
      for (const resolve of waiting.values()) resolve(undefined)
      waiting.clear()
    },
  }
}

export type ProcessWire = ReturnType<typeof openWire>
