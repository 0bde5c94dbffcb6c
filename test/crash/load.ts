/** Clients that send in every possible way and remember the responses. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Answer, Service } from './service.ts'

export type Promised = {
  id: string
  how: 'single' | 'batch' | 'soon' | 'later' | 'failed'
}

export type Load = {
  /** All acknowledged messages of all rounds. */
  promised: Promised[]
  /** The number of requests without a response. */
  cutOff: number
  /** Error responses by status and code. */
  refused: Record<string, number>
  /** Sends until `stop` is called, or until about `requests` requests were acknowledged. */
  drive(service: Service, clients: number, requests: number): { stop(): Promise<void> }
}

const second = 1_000
const letter = { from: 'hello@example.test', subject: 'A subject', text: 'Hi' }

type Sent = { data: { id: string | null; status: string }[] }

export const makeLoad = (): Load => {
  let count = 0
  const load: Load = {
    promised: [],
    cutOff: 0,
    refused: {},
    drive: (service, clients, requests) => {
      let stopping = false
      let left = requests
      const to = () => [`reader${count++}@reader.test`]
      const at = (ms: number) => new Date(Date.now() + ms).toISOString()
      const note = (answer: Answer | undefined, keep: (body: never) => Promised[]) => {
        if (!answer) load.cutOff++
        else if (answer.status === 200) load.promised.push(...keep(answer.body as never))
        else {
          const { error } = answer.body as { error?: { code?: string } }
          const name = `${answer.status} ${error?.code}`
          load.refused[name] = (load.refused[name] ?? 0) + 1
        }
      }
      const send = async (how: 'single' | 'soon' | 'later', body: object) =>
        note(
          await service.ask('POST', '/api/v1/emails', { ...letter, to: to(), ...body }),
          ({ id }: { id: string }) => [{ id, how }],
        )
      const ways = [
        () => send('single', {}),
        () => send('soon', { scheduled_at: at((1.1 + Math.random()) * second) }),
        // The handover takes three seconds, so that the service always holds a claim when it is killed.
        () => send('soon', { scheduled_at: at(1.1 * second), to: ['slow@simulator.tidings.test'] }),
        () => send('later', { scheduled_at: at(24 * 3_600 * second) }),
        async () =>
          note(
            await service.ask(
              'POST',
              '/api/v1/emails/batch',
              Array.from({ length: 5 }, () => ({ ...letter, to: to() })),
            ),
            ({ data }: Sent) =>
              data.flatMap(({ id, status }) =>
                id === null ? [] : [{ id, how: status === 'sent' ? ('batch' as const) : ('failed' as const) }],
              ),
          ),
      ]
      const client = async (first: number) => {
        for (let way = first; !stopping && left > 0; way++) {
          const known = load.promised.length
          await ways[way % ways.length]?.()
          if (load.promised.length > known) left--
          // Pauses like a real client, so that the local outbox can hold all messages.
          await wait(Math.random() * 100)
        }
      }
      const running = Promise.all(Array.from({ length: clients }, (_, i) => client(i)))
      return {
        stop: async () => {
          stopping = true
          await running
        },
      }
    },
  }
  return load
}
