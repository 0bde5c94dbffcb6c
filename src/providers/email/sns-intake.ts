/** Receives SNS messages: verifies them, confirms subscriptions, and passes notifications to a parser. */
import type { z } from 'zod'
import type { Clock } from '../../platform/ground/clock.ts'
import { isId, isSentId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Report } from '../handover.ts'
import { type FetchText, fetchFromSns, makeSnsReader, type SnsMessage, snsAddress } from './sns.ts'

/** What a provider reports about a message that it sent. */
export type SentNotification = {
  /** The same for every delivery of one notification. */
  notificationId: string
  orgId: string
  messageId: string
  report: Report
}

type SnsResult<T> = { kind: 'notification'; notifications: T[] } | { kind: 'confirmed' } | { kind: 'ignored' }

export type SnsIntakeNeeds = {
  topics: readonly string[]
  clock: Clock
  log: Log
  fetchCertificate?: FetchText
  /** Fetches the URL that confirms a subscription. */
  confirm?: FetchText
}

/** Ignores what is not about this service or changes nothing. */
export type ParseSns<T> = (message: SnsMessage) => T | 'ignored'

const payloadOf = <P>(shape: z.ZodType<P>, text: string): P | undefined => {
  try {
    return shape.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** Parses notifications whose content has this shape, and ignores all others. */
export const parseShape =
  <P, T>(shape: z.ZodType<P>, parse: (payload: P, message: SnsMessage) => T | 'ignored'): ParseSns<T> =>
  (message) => {
    const payload = payloadOf(shape, message.Message)
    return payload === undefined ? 'ignored' : parse(payload, message)
  }

/** Undefined for ids of a message that this service did not send. */
export const sentIds = (orgId: unknown, messageId: unknown) =>
  typeof orgId === 'string' && typeof messageId === 'string' && isId('org', orgId) && isSentId(messageId)
    ? { orgId, messageId }
    : undefined

/** The first of these times that is one. They are texts, or milliseconds since 1970. */
export const firstTime = (...times: (string | number | undefined)[]): Date => {
  const instants = times.map((time) => new Date(time ?? Number.NaN))
  return instants.find((instant) => !Number.isNaN(instant.getTime())) ?? new Date(0)
}

export const makeSnsIntake = <T>(needs: SnsIntakeNeeds, parse: ParseSns<T>) => {
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
    /** Throws SignatureFault when the message is not from one of our topics. After any other error, SNS should redeliver. */
    take: async (notification: unknown): Promise<SnsResult<T>> => {
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

export type SnsIntake<T> = ReturnType<typeof makeSnsIntake<T>>
