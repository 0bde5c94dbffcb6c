/** Clients that use the API in many ways and note what was acknowledged. */
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { Journal, Way } from './journal.ts'
import type { Relay } from './relay.ts'

type Answer = { status: number; body: Record<string, unknown> }
type Item = { id: string | null; status: string; error: { code: string } | null }

export type LoadNeeds = {
  url: string
  key: string
  endpointId: string
  journal: Journal
  relay: Relay
  /** The time of the service's clock. */
  clock: () => number
  clients: number
}

const letter = {
  from: 'Soak <hello@example.test>',
  subject: 'A receipt',
  html: '<p>Thank you, <b>Ada</b>. <a href="https://example.com/orders">Your orders</a></p>',
  text: 'Thank you, Ada.',
}
const second = 1_000
const minute = 60 * second

const kindOf = (answer: Answer | undefined): string | undefined => {
  if (!answer) return 'no response'
  if (answer.status < 300) return undefined
  return `${answer.status} ${(answer.body.error as { code?: string } | undefined)?.code}`
}

export const makeLoad = (needs: LoadNeeds) => {
  const { url, key, endpointId, journal, relay, clock } = needs
  const agent = new Agent({ connections: needs.clients, keepAliveTimeout: 1_000 })
  const recent: { id: string; channel: 'emails' | 'sms' }[] = []
  let count = 0

  const send = async (
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    headers = {},
  ): Promise<Answer | undefined> => {
    try {
      const response = await request(`${url}${path}`, {
        method,
        dispatcher: agent,
        headersTimeout: 60 * second,
        bodyTimeout: 60 * second,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body === undefined ? null : JSON.stringify(body),
      })
      return { status: response.statusCode, body: (await response.body.json()) as Answer['body'] }
    } catch {
      return undefined
    }
  }

  const ask = async (operation: string, ...call: Parameters<typeof send>): Promise<Answer['body'] | undefined> => {
    const from = journal.now()
    const answer = await send(...call)
    const kind = kindOf(answer)
    journal.note(operation, from, kind)
    return kind === undefined ? answer?.body : undefined
  }

  const keep = (id: unknown, way: Way, channel: 'emails' | 'sms' = 'emails'): void => {
    journal.acknowledged.set(String(id), way)
    recent.push({ id: String(id), channel })
    if (recent.length > 2_000) recent.splice(0, 1_000)
  }

  const to = () => `reader${count++}@reader.test`
  const number = () => `+1512${String(2_000_000 + (count++ % 7_000_000))}`
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(Math.random() * list.length)]

  const single = async (operation: string, way: Way, extra: object): Promise<void> => {
    const idempotencyKey = `soak-${process.pid}-${count}`
    const body = { ...letter, to: [to()], tags: [`tag${count % 50}`], ...extra }
    const answer = await ask(operation, 'POST', '/api/v1/emails', body, { 'idempotency-key': idempotencyKey })
    if (!answer) return
    keep(answer.id, answer.status === 'scheduled' && way !== 'scheduled' ? 'queued' : way)
    if (count % 10 !== 0) return
    const again = await ask('repeat', 'POST', '/api/v1/emails', body, { 'idempotency-key': idempotencyKey })
    if (again && again.id !== answer.id)
      journal.faults.push(`a repeated send returned ${again.id} instead of ${answer.id}`)
  }

  const batch = async (operation: string, path: string, items: object[], channel: 'emails' | 'sms'): Promise<void> => {
    const answer = await ask(operation, 'POST', path, items)
    for (const { id, status, error } of (answer?.data ?? []) as Item[]) {
      if (id !== null && status === 'sent') keep(id, channel === 'sms' ? 'sms' : 'batch', channel)
      else journal.note(`${operation} item`, journal.now(), error?.code ?? 'failed')
    }
  }

  const check = async (started: Answer['body'] | undefined, code: string | undefined): Promise<void> => {
    if (!started) return
    if (code === undefined) return void journal.faults.push(`the code of ${started.id} never arrived`)
    const wrong = code === '000000' ? '111111' : '000000'
    const path = `/api/v1/verifications/${started.id}/check`
    const denied = await ask('check code', 'POST', path, { code: wrong })
    if (denied && denied.reason !== 'invalid')
      journal.faults.push(`a wrong code of ${started.id} got ${JSON.stringify(denied)}`)
    const approved = await ask('check code', 'POST', path, { code })
    if (approved && approved.status !== 'approved') {
      journal.faults.push(`the code of ${started.id} got ${JSON.stringify(approved)}`)
    }
  }

  const emailCode = async (): Promise<void> => {
    const address = to()
    const body = { channel: 'email', to: address, from: 'login@example.test' }
    const started = await ask('start code', 'POST', '/api/v1/verifications', body)
    await check(started, relay.takeCode(address))
  }

  const smsCode = async (): Promise<void> => {
    const phone = number()
    const started = await ask('start code', 'POST', '/api/v1/verifications', {
      channel: 'sms',
      to: phone,
      from: 'TIDINGS',
    })
    if (!started) return
    const outbox = await ask('outbox', 'GET', `/api/dev/outbox?channel=sms&to=${encodeURIComponent(phone)}`)
    const [sent] = (outbox?.data ?? []) as { body: string }[]
    if (outbox) await check(started, /code is (\d{6})/.exec(sent?.body ?? '')?.[1])
  }

  const sms = async (): Promise<void> => {
    const answer = await ask('sms', 'POST', '/api/v1/sms', {
      from: 'TIDINGS',
      to: number(),
      body: 'Your order is on its way.',
    })
    if (answer) keep(answer.id, 'sms', 'sms')
  }

  const read = async (): Promise<void> => {
    const one = pick(recent)
    if (one) await ask('read', 'GET', `/api/v1/${one.channel}/${one.id}`)
  }

  const list = (operation: string, path: string) => async (): Promise<void> => {
    await ask(operation, 'GET', path)
  }

  const schedule = () =>
    single('schedule', 'scheduled', {
      scheduled_at: new Date(clock() + minute * (2 + 18 * Math.random())).toISOString(),
    })
  const emails = (size: number) => Array.from({ length: size }, () => ({ ...letter, to: [to()] }))
  const texts = (size: number) =>
    Array.from({ length: size }, () => ({ from: 'TIDINGS', to: number(), body: 'All is well.' }))

  /** How many of a hundred operations are of each kind. The ceiling of codes is 1,000 in an hour of the service's clock. */
  const shares: [number, () => Promise<void>][] = [
    [24, () => single('single', 'single', {})],
    [10, schedule],
    [
      8,
      () =>
        single('template', 'template', {
          subject: undefined,
          html: undefined,
          text: undefined,
          template: 'soak',
          variables: { name: 'Ada', items: [{ title: 'One' }, { title: 'Two' }] },
        }),
    ],
    [4, () => batch('batch', '/api/v1/emails/batch', emails(10), 'emails')],
    [10, sms],
    [2, () => batch('sms batch', '/api/v1/sms/batch', texts(5), 'sms')],
    [1, emailCode],
    [1, smsCode],
    [18, read],
    [8, list('list emails', '/api/v1/emails?limit=20')],
    [4, () => list('search emails', `/api/v1/emails?tag=tag${count % 50}`)()],
    [3, list('list sms', '/api/v1/sms?limit=20')],
    [2, list('list deliveries', `/api/v1/webhooks/${endpointId}/deliveries?limit=20`)],
    [2, list('usage', '/api/v1/usage')],
    [3, async () => void (await ask('suppress', 'POST', '/api/v1/suppressions', { channel: 'email', value: to() }))],
  ]
  const operations = shares.flatMap(([share, operation]) => Array<() => Promise<void>>(share).fill(operation))

  let stopping = false
  const client = async (): Promise<void> => {
    while (!stopping) {
      await pick(operations)?.()
      await wait(40 + Math.random() * 120)
    }
  }
  const running = Promise.all(Array.from({ length: needs.clients }, client))
  return {
    stop: async (): Promise<void> => {
      stopping = true
      await running
      await agent.destroy()
    },
  }
}
