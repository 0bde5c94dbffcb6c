/** One connection to a message centre, bound as transceiver. */
import type { Pdu, Session, Smpp } from 'smpp'
import type { SmppCentre } from '../../../platform/ground/smpp-url.ts'
import { statusName } from './command-status.ts'
import type { SubmitFields } from './submit-fields.ts'

export type LinkTimeouts = {
  /** To connect and bind. */
  connectMs: number
  /** For each answer. */
  answerMs: number
  /** How often an idle connection is checked. */
  enquireMs: number
}

/** No answer arrived. `sent` is true if the message centre may have the request. */
export class NoAnswerFault extends Error {
  readonly sent: boolean
  constructor(sent: boolean, reason: string) {
    super(reason)
    this.sent = sent
  }
}

type Needs = {
  smpp: Smpp
  centre: SmppCentre
  timeouts: LinkTimeouts
  /** Resolves with the status of the answer. */
  onDeliver: (pdu: Pdu) => Promise<number>
  /** How many answers may be missing before the connection is given up. */
  maxMissing: number
}

type RequestName = 'bind_transceiver' | 'submit_sm' | 'enquire_link' | 'unbind'

const interfaceVersion = 0x34
const unbindMs = 2_000
const closeMs = 1_000

/** Sends requests and pairs them with their answers. */
const makeRequests = (session: Session, maxMissing: number) => {
  const waiting = new Set<(reason: string) => void>()
  let missing = 0

  const giveUp = (reason: string): void => {
    for (const lose of [...waiting]) lose(reason)
    session.destroy()
  }

  const request = (name: RequestName, fields: SubmitFields, timeoutMs: number, onLate?: (answer: Pdu) => void) =>
    new Promise<Pdu>((resolve, reject) => {
      let lost = false
      const settle = () => {
        clearTimeout(timer)
        waiting.delete(lose)
      }
      const lose = (reason: string) => {
        lost = true
        settle()
        reject(new NoAnswerFault(true, reason))
      }
      const timer = setTimeout(() => {
        lose('no answer in time')
        // The package keeps a callback for every request without an answer, so their number is bounded.
        if (++missing > maxMissing) giveUp('too many answers are missing')
      }, timeoutMs)
      waiting.add(lose)
      const written = session[name](fields, (answer) => {
        if (lost) {
          missing--
          onLate?.(answer)
          return
        }
        settle()
        resolve(answer)
      })
      if (written) return
      settle()
      reject(new NoAnswerFault(false, 'the connection is closed'))
    })
  return { request, giveUp }
}

/** Answers the requests of the message centre. Handlers must not throw: nothing would catch that. */
const answerRequests = ({ smpp, onDeliver }: Pick<Needs, 'smpp' | 'onDeliver'>, session: Session): void => {
  session.on('enquire_link', (pdu: Pdu) => session.send(pdu.response()))
  session.on('unbind', (pdu: Pdu) => {
    session.send(pdu.response())
    session.close()
    // A message centre may leave its side of the connection open.
    setTimeout(() => session.destroy(), closeMs).unref()
  })
  session.on('deliver_sm', (pdu: Pdu) => {
    onDeliver(pdu).then(
      (command_status) => session.send(pdu.response({ command_status })),
      () => session.send(pdu.response({ command_status: smpp.errors.ESME_RX_T_APPN })),
    )
  })
  for (const unsupported of ['unknown', 'data_sm']) {
    session.on(unsupported, (pdu: Pdu) => session.send(pdu.response({ command_status: smpp.errors.ESME_RINVCMDID })))
  }
}

const connect = ({ smpp, centre }: Needs): Session =>
  smpp.connect({
    host: centre.host,
    port: centre.port,
    tls: centre.tls,
    rejectUnauthorized: centre.verify,
    minVersion: 'TLSv1.2',
  })

/** Connects and binds. Rejects when that fails or takes too long. */
export const openLink = async (needs: Needs) => {
  const { smpp, centre, timeouts } = needs
  const session = connect(needs)
  const { request, giveUp } = makeRequests(session, needs.maxMissing)
  let fault = 'the message centre closed the connection'
  const closed = new Promise<void>((resolve) => {
    session.on('close', () => {
      clearInterval(enquiring)
      giveUp(fault)
      resolve()
    })
  })
  session.on('error', (error: Error & { code?: string }) => {
    fault = error.code ?? error.message
    // After bytes that are not SMPP, the package reads no further.
    session.destroy()
  })
  answerRequests(needs, session)
  let enquiring: NodeJS.Timeout | undefined

  const bind = async (): Promise<void> => {
    await new Promise<void>((resolve, reject) => {
      session.once(centre.tls ? 'secureConnect' : 'connect', () => resolve())
      closed.then(() => reject(new Error(fault)))
    })
    const { systemId: system_id, password, systemType: system_type } = centre
    const fields = { system_id, password, system_type, interface_version: interfaceVersion }
    const { command_status } = await request('bind_transceiver', fields, timeouts.connectMs)
    if (command_status !== 0) throw new Error(`bind refused: ${statusName(smpp.errors, command_status)}`)
  }

  const timer = setTimeout(() => {
    fault = 'the message centre did not accept the connection in time'
    session.destroy()
  }, timeouts.connectMs)
  try {
    await bind()
  } catch (error) {
    session.destroy()
    throw error
  } finally {
    clearTimeout(timer)
  }

  enquiring = setInterval(() => {
    request('enquire_link', {}, timeouts.answerMs).catch(() => giveUp('the connection check got no answer'))
  }, timeouts.enquireMs)
  return {
    /** Resolves when the connection is closed, for whatever reason. */
    closed,
    /** Resolves with the answer. Rejects with NoAnswerFault. An answer that arrives after that goes to `onLate`. */
    submit: (fields: SubmitFields, onLate: (answer: Pdu) => void): Promise<Pdu> =>
      request('submit_sm', fields, timeouts.answerMs, onLate),
    /** Unbinds and closes the connection. */
    end: async (): Promise<void> => {
      await request('unbind', {}, unbindMs).catch(() => undefined)
      session.destroy()
      await closed
    },
  }
}

export type SmppLink = Awaited<ReturnType<typeof openLink>>
