/** The SMTP server that other mail servers deliver bounces and complaints to. */
import type { InboundSmtpConfig } from '../../platform/ground/config/config.ts'
import type { Log } from '../../platform/ground/log.ts'
import { megabyte } from '../../platform/ground/units.ts'
import { makeMailParser } from '../submission/mail-parser.ts'
import { makeSmtpPort, type SmtpPort } from '../submission/smtp-port.ts'
import { makeInboundHandlers } from './inbound-handlers.ts'
import type { FindMailbox } from './mailboxes.ts'

/** Larger than any message that a relay returns whole. */
const maxMessageBytes = 50 * megabyte

type Needs = { config: InboundSmtpConfig; host: string; mailboxes: readonly FindMailbox[]; log: Log }

export const makeInboundSmtp = ({ config, host, mailboxes, log }: Needs): SmtpPort => {
  const parser = makeMailParser()
  return makeSmtpPort({
    listen: config,
    variables: { port: 'INBOUND_SMTP_PORT', host: 'INBOUND_SMTP_HOST' },
    tls: config.tls,
    maxConnections: 100,
    withoutCommands: ['AUTH'],
    options: { name: host, size: maxMessageBytes, authOptional: true },
    replacedReply: '4.3.2 Too many connections. Try again later.',
    parser,
    log,
    name: 'inbound smtp',
    handle: (disconnect) => makeInboundHandlers({ mailboxes, parser, log, disconnect }),
  })
}
