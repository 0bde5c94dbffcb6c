/** Receives SNS messages: verifies them, confirms subscriptions, and passes notifications to a parser. */
import type { Clock } from '../../ground/clock.ts'
import type { Log } from '../../ground/log.ts'
import { type FetchText, fetchFromSns, makeSnsReader, type SnsMessage, snsAddress } from './sns.ts'

export type SnsResult<T> = { kind: 'notification'; notifications: T[] } | { kind: 'confirmed' } | { kind: 'ignored' }

export interface SnsIntake<T> {
  /** Throws BadSignature when the message is not from one of our topics. After any other error, SNS should redeliver. */
  take(notification: unknown): Promise<SnsResult<T>>
}

export type SnsIntakeNeeds = {
  topics: readonly string[]
  clock: Clock
  log: Log
  fetchCertificate?: FetchText
  /** Fetches the URL that confirms a subscription. */
  confirm?: FetchText
}

export const makeSnsIntake = <T>(
  needs: SnsIntakeNeeds,
  parse: (message: SnsMessage) => T | 'ignored',
): SnsIntake<T> => {
  const { topics, clock, log, fetchCertificate = fetchFromSns, confirm = fetchFromSns } = needs
  const read = makeSnsReader({ topics, fetchCertificate, clock })

  const confirmSubscription = async (address: string, topic: string): Promise<SnsResult<T>> => {
    const url = snsAddress(address)
    const isConfirmation =
      url?.searchParams.get('Action') === 'ConfirmSubscription' && url.searchParams.get('TopicArn') === topic
    if (!url || !isConfirmation) {
      log.warn({ topic }, 'sns subscription ignored: confirmation url is not valid')
      return { kind: 'ignored' }
    }
    await confirm(url.href)
    log.info({ topic }, 'sns subscription confirmed')
    return { kind: 'confirmed' }
  }

  return {
    take: async (notification) => {
      const message = await read(notification)
      if (message.Type === 'SubscriptionConfirmation') {
        return confirmSubscription(message.SubscribeURL, message.TopicArn)
      }
      if (message.Type === 'UnsubscribeConfirmation') {
        log.warn({ topic: message.TopicArn }, 'sns subscription ended')
        return { kind: 'ignored' }
      }
      const parsed = parse(message)
      return parsed === 'ignored' ? { kind: 'ignored' } : { kind: 'notification', notifications: [parsed] }
    },
  }
}
