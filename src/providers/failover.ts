/** Combines several providers: when one cannot accept a message, the next one is tried. */
import { assertNotInTransaction } from '../platform/db/pool.ts'
import type { Clock } from '../platform/ground/clock.ts'
import type { Log } from '../platform/ground/log.ts'
import { markChanged } from '../platform/ground/request-context.ts'
import { inSpan, isTracing } from '../platform/ground/tracing.ts'
import { type Handover, HandoverFault, type HandoverFaultKind, type HandoverProvider } from './handover.ts'

type BreakerState = 'closed' | 'open' | 'half_open'

type Message = { messageId: string }

const failuresToOpen = 5
const openForMs = 30_000
/** While no other provider can take the messages, the failing one is tried more often. */
const openForWithoutAlternativeMs = 1_000
const defaultTimeoutMs = 30_000

type Link<M extends Message> = {
  provider: HandoverProvider<M>
  failures: number
  /** When the breaker opened. Undefined while it is closed. */
  openedAt: number | undefined
  /** A message is being sent that decides whether the breaker closes. */
  probing: boolean
}

/** How an attempt to hand a message to one provider ended. */
type HandoverOutcome = 'accepted' | HandoverFaultKind

/** Called after every attempt, with its duration in seconds. */
export type MeasureHandover = (attempt: {
  channel: 'email' | 'sms'
  provider: string
  outcome: HandoverOutcome
  seconds: number
}) => void

type Needs = {
  channel: 'email' | 'sms'
  clock: Clock
  log: Log
  timeoutMs?: number
  measure?: MeasureHandover | undefined
}

const texts = {
  email: { provider: 'email provider', handingOver: 'handing over an email' },
  sms: { provider: 'SMS provider', handingOver: 'handing over an SMS' },
} as const

const unconfirmed = (provider: string, cause: unknown): HandoverFault =>
  new HandoverFault('uncertain', provider, 'The provider did not confirm the message. It may have been sent.', {
    cause,
  })

/** After a timeout the message may have been sent, so no other provider may be tried. */
const sendWithTimeout = <M extends Message>(
  provider: HandoverProvider<M>,
  message: M,
  timeoutMs: number,
): Promise<Handover> =>
  new Promise((resolve, reject) => {
    const onTimeout = () => reject(unconfirmed(provider.name, new Error('provider timed out')))
    const timer = setTimeout(onTimeout, timeoutMs)
    Promise.try(() => provider.send(message)).then(
      (handed) => {
        clearTimeout(timer)
        resolve(handed)
      },
      (error) => {
        clearTimeout(timer)
        // The message may have been sent before an unexpected error, so that is treated like a timeout.
        reject(error instanceof HandoverFault ? error : unconfirmed(provider.name, error))
      },
    )
  })

export const makeFailoverProvider = <M extends Message>(providers: readonly HandoverProvider<M>[], needs: Needs) => {
  const { channel, clock, log, timeoutMs = defaultTimeoutMs, measure } = needs
  const text = texts[channel]
  const name = providers.map((provider) => provider.name).join(',')
  const links: Link<M>[] = providers.map((provider) => ({
    provider,
    failures: 0,
    openedAt: undefined,
    probing: false,
  }))

  const openFor = (link: Link<M>): number =>
    links.some((other) => other !== link && other.openedAt === undefined) ? openForMs : openForWithoutAlternativeMs

  const stateOf = (link: Link<M>): BreakerState => {
    if (link.openedAt === undefined) return 'closed'
    return clock.millis() - link.openedAt >= openFor(link) ? 'half_open' : 'open'
  }

  const closeBreaker = (link: Link<M>): void => {
    if (link.openedAt !== undefined) log.info({ provider: link.provider.name }, `${channel} provider recovered`)
    link.failures = 0
    link.openedAt = undefined
  }

  const countFailure = (link: Link<M>, probe: boolean): void => {
    link.failures++
    // Messages that were being sent when the breaker opened do not keep it open longer.
    if (!probe && (link.failures < failuresToOpen || link.openedAt !== undefined)) return
    if (link.openedAt === undefined) {
      log.warn({ provider: link.provider.name }, `${channel} provider failing, circuit breaker opened`)
    }
    link.openedAt = clock.millis()
  }

  /** The outcome of one attempt decides the state of the breaker. */
  const follow = (link: Link<M>, probe: boolean, outcome: HandoverOutcome): void => {
    if (probe) link.probing = false
    // A provider that refuses or throttles a message is working.
    if (outcome === 'unavailable' || outcome === 'uncertain') countFailure(link, probe)
    else closeBreaker(link)
  }

  const inOwnSpan = (provider: HandoverProvider<M>, message: M): Promise<Handover> => {
    if (!isTracing()) return sendWithTimeout(provider, message, timeoutMs)
    const fields = {
      'tidings.channel': channel,
      'tidings.provider': provider.name,
      'tidings.message_id': message.messageId,
    }
    return inSpan(
      { kind: 'client', name: `${channel} handover`, fields },
      () => sendWithTimeout(provider, message, timeoutMs),
      (error) => (error as HandoverFault).kind,
    )
  }

  /** One attempt, with its span and its measurement. */
  const sendThrough = (link: Link<M>, message: M): Promise<Handover> => {
    const { provider } = link
    const probe = link.openedAt !== undefined
    if (probe) link.probing = true
    const startedAt = performance.now()
    const ended = (outcome: HandoverOutcome): void => {
      const seconds = (performance.now() - startedAt) / 1_000
      measure?.({ channel, provider: provider.name, outcome, seconds })
      follow(link, probe, outcome)
    }
    return inOwnSpan(provider, message).then(
      (handed) => {
        ended('accepted')
        return handed
      },
      (error: HandoverFault) => {
        ended(error.kind)
        throw error
      },
    )
  }

  /** A fault that ends the send is thrown and logged by the caller. One that leads to the next provider is logged here. */
  const logFailover = ({ provider, kind, cause }: HandoverFault, next: Link<M>, message: M): void => {
    const { code } = (cause ?? {}) as { code?: unknown }
    const fields = { provider, kind, code, next_provider: next.provider.name, message_id: message.messageId }
    log.warn(fields, `${channel} handover failed, trying the next provider`)
  }

  const send = async (message: M): Promise<Handover> => {
    assertNotInTransaction(text.handingOver)
    markChanged()
    const able = links.filter(({ provider }) => provider.accepts?.(message) !== false)
    if (able.length === 0) {
      throw new HandoverFault('refused', name, `No configured ${text.provider} can send this kind of message.`)
    }
    let fault: HandoverFault | undefined
    let last: HandoverFault | undefined
    for (const link of able) {
      const state = stateOf(link)
      if (state === 'open' || (state === 'half_open' && link.probing)) continue
      if (last) logFailover(last, link, message)
      try {
        return await sendThrough(link, message)
      } catch (error) {
        last = error as HandoverFault
        if (last.kind === 'refused' || last.kind === 'uncertain') throw last
        if (fault?.kind !== 'throttled') fault = last
      }
    }
    throw fault ?? new HandoverFault('unavailable', name, `No ${text.provider} is available right now.`)
  }

  return {
    name,
    send,
    /** The circuit breaker of each provider, in the order in which they are tried. For metrics. */
    states: () => links.map((link) => ({ name: link.provider.name, state: stateOf(link) })),
    close: async (): Promise<void> => {
      await Promise.all(providers.map((provider) => provider.close()))
    },
  }
}

export type FailoverProvider<M extends Message> = ReturnType<typeof makeFailoverProvider<M>>
