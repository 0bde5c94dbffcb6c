/** Several providers as one: who cannot take a message lets the next one try. */
import { assertNotInTransaction } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import type { Log } from '../../ground/log.ts'
import { type EmailProvider, type Handover, HandoverError, type Mail } from './email-provider.ts'

export type BreakerState = 'closed' | 'open' | 'half_open'

export interface FailoverProvider extends EmailProvider {
  /** For metrics, in the order in which they are asked. */
  states(): { name: string; state: BreakerState }[]
}

const failuresToOpen = 5
const openForMs = 30_000
const usualTimeoutMs = 30_000

type Link = {
  provider: EmailProvider
  failures: number
  /** When it opened; undefined while closed. */
  openedAt: number | undefined
  /** A message is on its way that decides whether it closes again. */
  probing: boolean
}

type Needs = { clock: Clock; log: Log; timeoutMs?: number }

const unfinished = (provider: string, cause: unknown): HandoverError =>
  new HandoverError('uncertain', provider, 'The provider did not say what became of the message.', { cause })

/** After that long nobody knows how far the message got, so no other provider may be asked. */
const withinTime = (provider: EmailProvider, mail: Mail, timeoutMs: number): Promise<Handover> =>
  new Promise((resolve, reject) => {
    const late = () => reject(unfinished(provider.name, new Error('no answer in time')))
    const timer = setTimeout(late, timeoutMs)
    Promise.try(() => provider.send(mail)).then(
      (handed) => {
        clearTimeout(timer)
        resolve(handed)
      },
      (error) => {
        clearTimeout(timer)
        // A fault of ours at an unknown point is treated like silence: better late than twice.
        reject(error instanceof HandoverError ? error : unfinished(provider.name, error))
      },
    )
  })

export const makeFailoverProvider = (providers: EmailProvider[], needs: Needs): FailoverProvider => {
  const { clock, log, timeoutMs = usualTimeoutMs } = needs
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

  const answered = (link: Link): void => {
    if (link.openedAt !== undefined) log.info({ provider: link.provider.name }, 'an email provider is back')
    link.failures = 0
    link.openedAt = undefined
  }

  const failed = (link: Link, probe: boolean): void => {
    link.failures++
    // Messages that were on their way when it opened do not keep it open for longer.
    if (!probe && (link.failures < failuresToOpen || link.openedAt !== undefined)) return
    link.openedAt = clock.millis()
    log.warn({ provider: link.provider.name }, 'an email provider fails and is left alone for a while')
  }

  const ask = (link: Link, mail: Mail): Promise<Handover> => {
    const probe = link.openedAt !== undefined
    if (probe) link.probing = true
    return withinTime(link.provider, mail, timeoutMs).then(
      (handed) => {
        if (probe) link.probing = false
        answered(link)
        return handed
      },
      (error: HandoverError) => {
        if (probe) link.probing = false
        // Whoever refuses or slows us down is there and answers.
        if (error.kind === 'unavailable' || error.kind === 'uncertain') failed(link, probe)
        else answered(link)
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
        return await ask(link, mail)
      } catch (error) {
        const handover = error as HandoverError
        const { kind, provider, cause } = handover
        if (kind === 'refused' || kind === 'uncertain') throw handover
        // Not its words: servers quote addresses in them.
        const { code } = (cause ?? {}) as { code?: unknown }
        log.warn({ provider, kind, code, message_id: mail.messageId }, 'an email was not taken')
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
