/** Hands mail to a relay over a pool of SMTP connections. */
import { Readable } from 'node:stream'
import { createTransport } from 'nodemailer'
import type { Clock } from '../../ground/clock.ts'
import type { Log } from '../../ground/log.ts'
import { parseSmtpUrl, type SmtpRelay } from '../../ground/smtp-url.ts'
import { composeMime, type MailEnvelope, mailEnvelopeOf } from './compose-mime.ts'
import { signDkim } from './dkim.ts'
import { type EmailProvider, type Handover, HandoverError, type Mail } from './email-provider.ts'
import { pieces } from './pieces.ts'
import { makeSemaphore } from './semaphore.ts'
import { judgeSmtp, reportRefused, type SmtpError } from './smtp-faults.ts'

const name = 'smtp'

export type SmtpPatience = {
  /** For a connection with greeting and TLS. */
  connectMs: number
  /** For each answer. */
  answerMs: number
  /** For a free connection of the pool. */
  turnMs: number
  /** For all of it. Below the chain's own limit, which cannot tell how far the message got. */
  totalMs: number
}

const usualPatience: SmtpPatience = { connectMs: 8_000, answerMs: 20_000, turnMs: 8_000, totalMs: 27_000 }

type Needs = {
  url: string
  poolSize: number
  clock: Clock
  log: Log
  patience?: SmtpPatience
}

/** One message on its way: how far its body got decides what a lost connection means. */
type Attempt = { raw: Buffer; body: Readable | undefined; abandoned: boolean }

const giveBody = (attempt: Attempt): Readable => {
  const body = Readable.from(pieces(attempt.raw), { objectMode: false })
  attempt.body = body
  if (attempt.abandoned) body.destroy(new Error('given up before it was sent'))
  return body
}

const transportTo = (relay: SmtpRelay, poolSize: number, patience: SmtpPatience, onEhlo: (utf8: boolean) => void) => {
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
      // Without it a relay that offers no authentication would get the mail unauthenticated.
      forceAuth: true,
    }),
    ...(relay.name && { name: relay.name }),
    maxConnections: poolSize,
    // A message goes to another connection only when not a byte of it went over the last; all may have died unseen.
    maxRequeues: Math.min(poolSize, 5),
    connectionTimeout: patience.connectMs,
    greetingTimeout: patience.connectMs,
    dnsTimeout: patience.connectMs,
    socketTimeout: patience.answerMs,
    // The transcript is the one public place that tells what the relay can do.
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

/** Postfix and its kin name the message they queued; it is what their log is searched for. */
const queueIdIn = (response: string): string | undefined => /\bqueued as ([\w.-]+)/i.exec(response)?.[1]

export const makeSmtpProvider = ({ url, poolSize, clock, log, patience = usualPatience }: Needs): EmailProvider => {
  const relay = parseSmtpUrl(url)
  // Said of a secret, hence without it.
  if (!relay) throw new Error('SMTP_URL cannot be read')
  let utf8: boolean | undefined
  const transport = transportTo(relay, poolSize, patience, (offered) => {
    utf8 = offered
  })
  transport.on('error', (err) => log.warn({ err }, 'the SMTP pool failed'))
  const attempts = new WeakMap<object, Attempt>()
  transport.use('stream', (mail, done) => {
    const attempt = attempts.get(mail.data.raw as Buffer) as Attempt
    mail.message.createReadStream = () => giveBody(attempt)
    done()
  })
  const turns = makeSemaphore(poolSize, patience.turnMs)
  const underWay = new Set<Promise<unknown>>()
  let closed = false

  const fault = (error: unknown, attempt: Attempt | undefined): HandoverError => {
    if (error instanceof HandoverError) return error
    const { kind, words } = judgeSmtp(error as SmtpError, attempt?.body?.readableEnded === true)
    return new HandoverError(kind, name, words, { cause: error })
  }

  const written = async (mail: Mail): Promise<Buffer> => {
    const raw = await composeMime(mail)
    return mail.dkim ? signDkim(raw, mail.dkim) : raw
  }

  const requireUtf8 = async (): Promise<void> => {
    if (utf8 === undefined) await transport.verify()
    if (utf8) return
    throw new HandoverError('refused', name, 'The mail relay does not take addresses beyond ASCII (SMTPUTF8).')
  }

  const talk = async (attempt: Attempt, { from, to, needsUtf8 }: MailEnvelope) => {
    if (needsUtf8) await requireUtf8()
    return transport.sendMail({ raw: attempt.raw, envelope: { from, to: [...to.keys()] } })
  }

  /** What has not gone out by the deadline never will: without its end no relay takes a message. */
  const byDeadline = <T>(attempt: Attempt, work: Promise<T>): Promise<T> => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        attempt.abandoned = true
        const slow = new Error('the relay took too long')
        reject(fault(slow, attempt))
        if (attempt.body?.readableEnded !== true) attempt.body?.destroy(slow)
      }, patience.totalMs)
    })
    return Promise.race([work, late]).finally(() => clearTimeout(timer))
  }

  const handOver = async (mail: Mail): Promise<Handover> => {
    if (closed) throw new HandoverError('unavailable', name, 'The service is stopping.')
    const attempt: Attempt = { raw: await written(mail), body: undefined, abandoned: false }
    const envelope = mailEnvelopeOf(mail)
    attempts.set(attempt.raw, attempt)
    if (!(await turns.take())) throw new HandoverError('throttled', name, 'All connections to the mail relay are busy.')
    const work = talk(attempt, envelope)
    // The connection is busy for as long as the talk goes on, whether or not anybody still waits for it.
    work.then(turns.give, turns.give)
    try {
      const info = await byDeadline(attempt, work)
      const at = clock.now()
      const reports = (info.rejectedErrors ?? []).map((error) => {
        const refused = error as SmtpError & { recipient?: string }
        const wire = refused.recipient ?? ''
        return reportRefused(envelope.to.get(wire) ?? wire, refused, at)
      })
      return {
        provider: name,
        providerMessageId: queueIdIn(info.response) ?? mail.messageId,
        ...(reports.length > 0 && { reports }),
      }
    } catch (error) {
      throw fault(error, attempt)
    }
  }

  return {
    name,
    send: async (mail) => {
      const work = handOver(mail).catch((error) => {
        throw fault(error, undefined)
      })
      underWay.add(work)
      try {
        return await work
      } finally {
        underWay.delete(work)
      }
    },
    close: async () => {
      closed = true
      await Promise.allSettled(underWay)
      transport.close({ force: true })
    },
  }
}
