/** A message centre on loopback that speaks SMPP. Tests decide how it answers. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import smpp, { type Pdu, type Server, type Session } from 'smpp'
import { onTestFinished } from 'vitest'

/** The fields of the answer. `silent` sends none. */
type Answer = Record<string, unknown> | 'silent'

export type Smsc = {
  url: string
  port: number
  binds: Pdu[]
  submits: Pdu[]
  /** Requests of the client in the order they arrived, without submits. */
  commands: string[]
  /** How often a connection was accepted. */
  connections: () => number
  answer: {
    bind: (pdu: Pdu) => Answer
    submit: (pdu: Pdu, session: Session) => Answer | Promise<Answer>
    enquire: () => Answer
  }
  /** Sends a `deliver_sm`, and resolves with the status of the answer. */
  deliver(fields: Record<string, unknown>): Promise<number>
  /** Sends any other request, and resolves with the answer. */
  ask(name: 'enquire_link' | 'unbind'): Promise<Pdu>
  /** The bound session. */
  session(): Session
  /** Destroys every connection. */
  drop(): void
  /** Stops to listen, and destroys every connection. */
  stop(): Promise<void>
  /** Listens again on the same port. */
  start(): Promise<void>
}

export const receiptFields = (id: string, stat: string, more: Record<string, unknown> = {}) => ({
  source_addr: '12025550123',
  source_addr_ton: 1,
  destination_addr: '12025550100',
  esm_class: 4,
  data_coding: 0,
  short_message: {
    message: `id:${id} sub:001 dlvrd:001 submit date:2611151020 done date:2611151021 stat:${stat} err:000 text:Hi`,
  },
  ...more,
})

type Options = {
  key?: string
  cert?: string
  /** Registers what stops it. By default it stops when the current test ends. */
  until?: (stop: () => Promise<void>) => void
}

export const openSmsc = async ({ until = onTestFinished, ...options }: Options = {}): Promise<Smsc> => {
  const sessions = new Set<Session>()
  const [binds, submits, commands]: [Pdu[], Pdu[], string[]] = [[], [], []]
  let connections = 0
  let ids = 0
  const answer: Smsc['answer'] = {
    bind: () => ({ system_id: 'smsc' }),
    submit: () => ({ message_id: `id-${++ids}` }),
    enquire: () => ({}),
  }
  const reply = (session: Session, pdu: Pdu, fields: Answer) => {
    if (fields !== 'silent') session.send(pdu.response(fields))
  }
  const onSession = (session: Session) => {
    connections++
    sessions.add(session)
    session.on('error', () => session.destroy())
    session.on('close', () => sessions.delete(session))
    session.on('pdu', (pdu: Pdu) => {
      if (!pdu.isResponse() && pdu.command !== 'submit_sm') commands.push(pdu.command)
    })
    session.on('bind_transceiver', (pdu: Pdu) => {
      binds.push(pdu)
      reply(session, pdu, answer.bind(pdu))
    })
    session.on('submit_sm', async (pdu: Pdu) => {
      submits.push(pdu)
      reply(session, pdu, await answer.submit(pdu, session))
    })
    session.on('enquire_link', (pdu: Pdu) => reply(session, pdu, answer.enquire()))
    session.on('unbind', (pdu: Pdu) => reply(session, pdu, {}))
  }
  let server: Server | undefined
  const listen = async (port: number): Promise<number> => {
    server = smpp.createServer(options, onSession)
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const drop = () => {
    for (const session of sessions) session.destroy()
  }
  const stop = async () => {
    const closing = server && new Promise((resolve) => server?.close(resolve))
    drop()
    await closing
    server = undefined
  }
  const session = (): Session => {
    const [first] = sessions
    if (!first) throw new Error('nothing is connected')
    return first
  }
  const port = await listen(0)
  until(stop)
  return {
    url: `${options.key ? 'ssmpp' : 'smpp'}://acme:secret@127.0.0.1:${port}`,
    port,
    binds,
    submits,
    commands,
    connections: () => connections,
    answer,
    deliver: (fields) =>
      new Promise((resolve) => {
        session().deliver_sm(fields, ({ command_status }) => resolve(command_status))
      }),
    ask: (name) =>
      new Promise((resolve) => {
        session()[name]({}, resolve)
      }),
    session,
    drop,
    stop,
    start: async () => {
      await listen(port)
    },
  }
}
