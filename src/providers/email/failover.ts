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
/** While no other provider can take the messages, the failing one is tried more often. */
const openForWithoutAlternativeMs = 1_000
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

  const openFor = (link: Link): number =>
    links.some((other) => other !== link && other.openedAt === undefined) ? openForMs : openForWithoutAlternativeMs

  const stateOf = (link: Link): BreakerState => {
    if (link.openedAt === undefined) return 'closed'
    return clock.millis() - link.openedAt >= openFor(link) ? 'half_open' : 'open'
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
    if (link.openedAt === undefined) {
      log.warn({ provider: link.provider.name }, 'email provider failing, circuit breaker opened')
    }
    link.openedAt = clock.millis()
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

  /** A fault that ends the send is thrown and logged by the caller. One that leads to the next provider is logged here. */
  const logFailover = ({ provider, kind, cause }: HandoverError, next: Link, mail: Mail): void => {
    const { code } = (cause ?? {}) as { code?: unknown }
    const fields = { provider, kind, code, next_provider: next.provider.name, message_id: mail.messageId }
    log.warn(fields, 'email handover failed, trying the next provider')
  }

  const send = async (mail: Mail): Promise<Handover> => {
    assertNotInTransaction('handing over an email')
    let fault: HandoverError | undefined
    let last: HandoverError | undefined
    for (const link of links) {
      const state = stateOf(link)
      if (state === 'open' || (state === 'half_open' && link.probing)) continue
      if (last) logFailover(last, link, mail)
      try {
        return await sendThrough(link, mail)
      } catch (error) {
        last = error as HandoverError
        if (last.kind === 'refused' || last.kind === 'uncertain') throw last
        if (fault?.kind !== 'throttled') fault = last
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
