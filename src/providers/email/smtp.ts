/** Sends mail through a relay over a pool of SMTP connections. */
import { Readable } from 'node:stream'
import { createTransport } from 'nodemailer'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { parseSmtpUrl, type SmtpRelay } from '../../platform/ground/smtp-url.ts'
import { type Handover, HandoverFault } from '../handover.ts'
import { chunksOf } from './chunks.ts'
import { composeMime, type MailEnvelope, mailEnvelopeOf } from './compose-mime.ts'
import { signDkim } from './dkim.ts'
import type { EmailProvider, Mail } from './email-provider.ts'
import { makeSemaphore } from './semaphore.ts'
import {
  classifySmtpError,
  isRefusedForGood,
  type RecipientError,
  reportRefused,
  type SmtpError,
} from './smtp-faults.ts'

const name = 'smtp'

export type SmtpTimeouts = {
  /** To connect, including the greeting and TLS. */
  connectMs: number
  /** To receive each reply. */
  replyMs: number
  /** To wait for a free connection of the pool. */
  poolWaitMs: number
  /** To send a message. Must be below the timeout of the failover chain, which does not know how much was sent. */
  totalMs: number
}

const defaultTimeouts: SmtpTimeouts = { connectMs: 8_000, replyMs: 20_000, poolWaitMs: 8_000, totalMs: 27_000 }

type Needs = {
  url: string
  poolSize: number
  clock: Clock
  log: Log
  timeouts?: SmtpTimeouts
}

/** One attempt to send a message. How much of the body was read decides what a lost connection means. */
type Attempt = { raw: Buffer; body: Readable | undefined; abandoned: boolean }

const transportTo = (relay: SmtpRelay, poolSize: number, timeouts: SmtpTimeouts, onEhlo: (utf8: boolean) => void) => {
  const ignore = () => undefined
  return createTransport({
    pool: true,
    host: relay.host,
    port: relay.port,
    secure: relay.implicitTls,
    requireTLS: relay.startTls === 'require',
    ignoreTLS: relay.startTls === 'off',
    tls: { rejectUnauthorized: relay.verify, minVersion: 'TLSv1.2' },
    ...(relay.credentials && {
      auth: { user: relay.credentials.user, pass: relay.credentials.password },
      // Otherwise mail would go unauthenticated to a relay that does not offer AUTH.
      forceAuth: true,
    }),
    ...(relay.name && { name: relay.name }),
    maxConnections: poolSize,
    // A message is requeued only when none of it was sent. Every connection of the pool may have been closed.
    maxRequeues: Math.min(poolSize, 5),
    connectionTimeout: timeouts.connectMs,
    greetingTimeout: timeouts.connectMs,
    dnsTimeout: timeouts.connectMs,
    socketTimeout: timeouts.replyMs,
    // The transaction log is the only public API that shows the extensions of the relay.
    transactionLog: true,
    logger: {
      level: ignore,
      trace: ignore,
      info: ignore,
      warn: ignore,
      error: ignore,
      fatal: ignore,
      debug: (entry: unknown, line?: unknown) => {
        const fromServer = (entry as { tnx?: string } | undefined)?.tnx === 'server'
        if (fromServer && typeof line === 'string' && line.startsWith('250-')) onEhlo(/^250[- ]SMTPUTF8\b/im.test(line))
      },
    },
  })
}

/** The queue id in the reply of Postfix and similar servers. Operators search the relay's log for it. */
const queueIdIn = (response: string): string | undefined => /\bqueued as ([\w.-]+)/i.exec(response)?.[1]

export const makeSmtpProvider = ({ url, poolSize, clock, log, timeouts = defaultTimeouts }: Needs): EmailProvider => {
  const relay = parseSmtpUrl(url)
  // The URL contains a password, so the message does not quote it.
  if (!relay) throw new Error('SMTP_URL is not valid')
  let utf8: boolean | undefined
  const transport = transportTo(relay, poolSize, timeouts, (offered) => {
    utf8 = offered
  })
  transport.on('error', (err) => log.warn({ err }, 'smtp pool failed'))
  const attempts = new WeakMap<object, Attempt>()
  transport.use('stream', (mail, done) => {
    const attempt = attempts.get(mail.data.raw as Buffer) as Attempt
    mail.message.createReadStream = () => {
      attempt.body = Readable.from(chunksOf(attempt.raw), { objectMode: false })
      if (attempt.abandoned) attempt.body.destroy(new Error('abandoned before it was sent'))
      return attempt.body
    }
    done()
  })
  const connections = makeSemaphore(poolSize, timeouts.poolWaitMs)
  const inFlight = new Set<Promise<unknown>>()
  let closed = false

  const handoverError = (error: unknown, attempt?: Attempt, envelope?: MailEnvelope): HandoverFault => {
    if (error instanceof HandoverFault) return error
    const { kind, message } = classifySmtpError(error as SmtpError, attempt?.body?.readableEnded === true)
    const { rejectedErrors = [] } = error as { rejectedErrors?: RecipientError[] }
    const refusedRecipients = rejectedErrors
      .filter(isRefusedForGood)
      .flatMap(({ recipient = '' }) => envelope?.to.get(recipient) ?? [])
    return new HandoverFault(kind, name, message, { cause: error, refusedRecipients })
  }

  const requireUtf8 = async (): Promise<void> => {
    if (utf8 === undefined) await transport.verify()
    if (utf8) return
    throw new HandoverFault('refused', name, 'The mail relay does not support SMTPUTF8, which this address requires.')
  }

  const transmit = async (attempt: Attempt, { from, to, needsUtf8 }: MailEnvelope) => {
    if (needsUtf8) await requireUtf8()
    return transport.sendMail({ raw: attempt.raw, envelope: { from, to: [...to.keys()] } })
  }

  /**
   * At the deadline, destroys a body that has not been sent completely. A relay accepts a message only with its end, so
   * the abandoned message is never delivered.
   */
  const withDeadline = <T>(attempt: Attempt, work: Promise<T>): Promise<T> => {
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        attempt.abandoned = true
        const timedOut = new Error('the relay timed out')
        reject(handoverError(timedOut, attempt))
        if (attempt.body?.readableEnded !== true) attempt.body?.destroy(timedOut)
      }, timeouts.totalMs)
    })
    return Promise.race([work, timeout]).finally(() => clearTimeout(timer))
  }

  const handOver = async (mail: Mail): Promise<Handover> => {
    if (closed) throw new HandoverFault('unavailable', name, 'The service is stopping.')
    const composed = await composeMime(mail)
    const raw = mail.dkim ? await signDkim(composed, mail.dkim) : composed
    const attempt: Attempt = { raw, body: undefined, abandoned: false }
    const envelope = mailEnvelopeOf(mail)
    attempts.set(attempt.raw, attempt)
    if (!(await connections.acquire())) {
      throw new HandoverFault('throttled', name, 'All connections to the mail relay are busy.')
    }
    const work = transmit(attempt, envelope)
    // The connection stays busy until the transmission ends, even if the deadline has passed.
    work.then(connections.release, connections.release)
    try {
      const info = await withDeadline(attempt, work)
      const at = clock.now()
      const reports = (info.rejectedErrors ?? []).map((error) => {
        const refused = error as RecipientError
        const wireAddress = refused.recipient ?? ''
        return reportRefused(envelope.to.get(wireAddress) ?? wireAddress, refused, at)
      })
      return {
        provider: name,
        providerMessageId: queueIdIn(info.response) ?? mail.messageId,
        ...(reports.length > 0 && { reports }),
      }
    } catch (error) {
      throw handoverError(error, attempt, envelope)
    }
  }

  return {
    name,
    send: async (mail) => {
      const work = handOver(mail).catch((error) => {
        throw handoverError(error)
      })
      inFlight.add(work)
      try {
        return await work
      } finally {
        inFlight.delete(work)
      }
    },
    close: async () => {
      closed = true
      await Promise.allSettled(inFlight)
      transport.close({ force: true })
    },
  }
}
