/** Combines several providers: when one cannot accept a message, the next one is tried. */
import { assertNotInTransaction } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import type { Log } from '../../ground/log.ts'
import { type EmailProvider, type Handover, HandoverError, type Mail } from './email-provider.ts'

export type BreakerState = 'closed' | 'open' | 'half_open'

export interface FailoverProvider extends EmailProvider {
  /** The circuit breaker of each provider, in the order in which they are tried. For metrics. */
  states(): { name: string; state: BreakerState }[]
}

const failuresToOpen = 5
const openForMs = 30_000
const defaultTimeoutMs = 30_000

type Link = {
  provider: EmailProvider
  failures: number
  /** When the breaker opened. Undefined while it is closed. */
  openedAt: number | undefined
  /** A message is being sent that decides whether the breaker closes. */
  probing: boolean
}

type Needs = { clock: Clock; log: Log; timeoutMs?: number }

const unconfirmed = (provider: string, cause: unknown): HandoverError =>
  new HandoverError('uncertain', provider, 'The provider did not confirm the message. It may have been sent.', {
    cause,
  })

/** After a timeout the message may have been sent, so no other provider may be tried. */
const sendWithTimeout = (provider: EmailProvider, mail: Mail, timeoutMs: number): Promise<Handover> =>
  new Promise((resolve, reject) => {
    const onTimeout = () => reject(unconfirmed(provider.name, new Error('provider timed out')))
    const timer = setTimeout(onTimeout, timeoutMs)
    Promise.try(() => provider.send(mail)).then(
      (handed) => {
        clearTimeout(timer)
        resolve(handed)
      },
      (error) => {
        clearTimeout(timer)
        // The message may have been sent before an unexpected error, so that is treated like a timeout.
        reject(error instanceof HandoverError ? error : unconfirmed(provider.name, error))
      },
    )
  })

export const makeFailoverProvider = (providers: EmailProvider[], needs: Needs): FailoverProvider => {
  const { clock, log, timeoutMs = defaultTimeoutMs } = needs
  const name = providers.map((provider) => provider.name).join(',')
  const links: Link[] = providers.map((provider) => ({
    provider,
    failures: 0,
    openedAt: undefined,
    probing: false,
  }))

  const stateOf = ({ openedAt }: Link): BreakerState => {
    if (openedAt === undefined) return 'closed'
    return clock.millis() - openedAt >= openForMs ? 'half_open' : 'open'
  }

  const closeBreaker = (link: Link): void => {
    if (link.openedAt !== undefined) log.info({ provider: link.provider.name }, 'email provider recovered')
    link.failures = 0
    link.openedAt = undefined
  }

  const countFailure = (link: Link, probe: boolean): void => {
    link.failures++
    // Messages that were being sent when the breaker opened do not keep it open longer.
    if (!probe && (link.failures < failuresToOpen || link.openedAt !== undefined)) return
    link.openedAt = clock.millis()
    log.warn({ provider: link.provider.name }, 'email provider failing, circuit breaker opened')
  }

  const sendThrough = (link: Link, mail: Mail): Promise<Handover> => {
    const probe = link.openedAt !== undefined
    if (probe) link.probing = true
    return sendWithTimeout(link.provider, mail, timeoutMs).then(
      (handed) => {
        if (probe) link.probing = false
        closeBreaker(link)
        return handed
      },
      (error: HandoverError) => {
        if (probe) link.probing = false
        // A provider that refuses or throttles a message is working.
        if (error.kind === 'unavailable' || error.kind === 'uncertain') countFailure(link, probe)
        else closeBreaker(link)
        throw error
      },
    )
  }

  const send = async (mail: Mail): Promise<Handover> => {
    assertNotInTransaction('handing over an email')
    let fault: HandoverError | undefined
    for (const link of links) {
      const state = stateOf(link)
      if (state === 'open' || (state === 'half_open' && link.probing)) continue
      try {
        return await sendThrough(link, mail)
      } catch (error) {
        const handover = error as HandoverError
        const { kind, provider, cause } = handover
        if (kind === 'refused' || kind === 'uncertain') throw handover
        // The provider's text is not logged, because servers quote addresses in it.
        const { code } = (cause ?? {}) as { code?: unknown }
        log.warn({ provider, kind, code, message_id: mail.messageId }, 'email handover failed')
        if (fault?.kind !== 'throttled') fault = handover
      }
    }
    throw fault ?? new HandoverError('unavailable', name, 'No email provider is available right now.')
  }

  return {
    name,
    send,
    states: () => links.map((link) => ({ name: link.provider.name, state: stateOf(link) })),
    close: async () => {
      await Promise.all(providers.map((provider) => provider.close()))
    },
  }
}
