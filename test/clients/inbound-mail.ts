/** Reports in the forms in which mail servers send them, and a service with the relay that it sends through. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createTransport } from 'nodemailer'
import { SMTPServer } from 'smtp-server'
import { type ServiceOptions, startTestService, type TestService } from '../service/service.ts'

export type Returned = {
  /** The address that the server gave up on. */
  recipient: string
  status?: string
  action?: string
  diagnostic?: string
  reportId?: string
}

const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n`

const original = (recipient: string): string[] => [
  'From: Acme <hello@example.test>',
  `To: ${recipient}`,
  'Subject: Your receipt',
  'Message-ID: <original@example.test>',
]

export const postfixBounce = ({
  recipient,
  status = '5.1.1',
  action = 'failed',
  diagnostic = 'smtp; 550 5.1.1 <gone>: Recipient address rejected: User unknown',
  reportId = '<20261116101112.4F1A2@relay.example.net>',
}: Returned): string =>
  lines(
    'Received: by relay.example.net (Postfix) id 5C3B1; Mon, 16 Nov 2026 10:11:12 +0000 (UTC)',
    'Date: Mon, 16 Nov 2026 10:11:12 +0000 (UTC)',
    'From: MAILER-DAEMON@relay.example.net (Mail Delivery System)',
    'Subject: Undelivered Mail Returned to Sender',
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status;',
    '\tboundary="4F1A2.1763287872/relay.example.net"',
    `Message-Id: ${reportId}`,
    '',
    'This is a MIME-encapsulated message.',
    '',
    '--4F1A2.1763287872/relay.example.net',
    'Content-Description: Notification',
    'Content-Type: text/plain; charset=us-ascii',
    '',
    'This is the mail system at host relay.example.net.',
    '',
    '--4F1A2.1763287872/relay.example.net',
    'Content-Description: Delivery report',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; relay.example.net',
    'X-Postfix-Queue-ID: 4F1A2',
    'X-Postfix-Sender: rfc822; sender@example.net',
    'Arrival-Date: Mon, 16 Nov 2026 10:11:11 +0000 (UTC)',
    '',
    `Final-Recipient: rfc822; ${recipient}`,
    `Original-Recipient: rfc822;${recipient}`,
    `Action: ${action}`,
    `Status: ${status}`,
    'Remote-MTA: dns; mx.reader.test',
    `Diagnostic-Code: ${diagnostic}`,
    '',
    '--4F1A2.1763287872/relay.example.net',
    'Content-Description: Undelivered Message',
    'Content-Type: message/rfc822',
    '',
    ...original(recipient),
    '',
    'Thank you.',
    '',
    '--4F1A2.1763287872/relay.example.net--',
  )

/** No Original-Recipient, folded diagnostics, a related part with HTML, and the headers only. */
export const exchangeBounce = ({
  recipient,
  status = '5.1.10',
  diagnostic = 'smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound;\r\n Recipient not found by SMTP address lookup',
}: Returned): string =>
  lines(
    'From: <postmaster@outlook.example>',
    'To: <sender@example.net>',
    'Date: Mon, 16 Nov 2026 10:11:12 +0000',
    'Content-Type: multipart/report; report-type=delivery-status;',
    '\tboundary="9f6d1c44-5d1b-4a9e-8a8c-51b3a9d2c001"',
    'Content-Language: en-US',
    'Message-ID: <e0d3f7a1-12ab@AM0PR01MB0001.eurprd01.prod.exchangelabs.example>',
    'Subject: Undeliverable: Your receipt',
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    '',
    '--9f6d1c44-5d1b-4a9e-8a8c-51b3a9d2c001',
    'Content-Type: multipart/alternative; differences=Content-Type;',
    '\tboundary="c0ffee00-9a2e-4a7c-9c57-8d4d1ab2c002"',
    '',
    '--c0ffee00-9a2e-4a7c-9c57-8d4d1ab2c002',
    'Content-Type: text/plain; charset="us-ascii"',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    "Your message couldn't be delivered.",
    '',
    '--c0ffee00-9a2e-4a7c-9c57-8d4d1ab2c002',
    'Content-Type: text/html; charset="us-ascii"',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    "<p>Your message couldn't be delivered.</p>",
    '',
    '--c0ffee00-9a2e-4a7c-9c57-8d4d1ab2c002--',
    '',
    '--9f6d1c44-5d1b-4a9e-8a8c-51b3a9d2c001',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns;AM0PR01MB0001.eurprd01.prod.exchangelabs.example',
    'Received-From-MTA: dns;relay.example.net',
    'Arrival-Date: Mon, 16 Nov 2026 10:11:11 +0000',
    '',
    `Final-Recipient: rfc822;${recipient}`,
    'Action: failed',
    `Status: ${status}`,
    `Diagnostic-Code: ${diagnostic}`,
    '',
    '',
    '--9f6d1c44-5d1b-4a9e-8a8c-51b3a9d2c001',
    'Content-Type: text/rfc822-headers',
    '',
    ...original(recipient),
    '',
    '--9f6d1c44-5d1b-4a9e-8a8c-51b3a9d2c001--',
  )

/** A folded diagnostic of several lines with quoted HTML in a related part, and no Original-Recipient. */
export const gmailBounce = ({
  recipient,
  status = '5.1.1',
  diagnostic = "smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n 550-5.1.1 double-checking the recipient's email address for typos or\r\n 550 5.1.1 unnecessary spaces. - gsmtp",
}: Returned): string =>
  lines(
    'From: Mail Delivery Subsystem <mailer-daemon@googlemail.example>',
    'To: sender@example.net',
    'Auto-Submitted: auto-replied',
    'Subject: Delivery Status Notification (Failure)',
    'References: <original@example.test>',
    'X-Failed-Recipients: gone@reader.test',
    'Message-ID: <6737d2f0.170a0220.1a2b3c.4d5e.GMR@mx.google.example>',
    'Date: Mon, 16 Nov 2026 02:11:12 -0800 (PST)',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; boundary="000000000000b1f3a70627001a2b"; report-type=delivery-status',
    '',
    '--000000000000b1f3a70627001a2b',
    'Content-Type: multipart/related; boundary="000000000000b1fb4f0627001a2c"',
    '',
    '--000000000000b1fb4f0627001a2c',
    'Content-Type: text/plain; charset="UTF-8"',
    '',
    '** Address not found **',
    '',
    '--000000000000b1fb4f0627001a2c',
    'Content-Type: image/png; name="icon.png"',
    'Content-Disposition: attachment; filename="icon.png"',
    'Content-Transfer-Encoding: base64',
    'Content-ID: <icon.png>',
    '',
    'iVBORw0KGgo=',
    '--000000000000b1fb4f0627001a2c--',
    '',
    '--000000000000b1f3a70627001a2b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; googlemail.example',
    'Arrival-Date: Mon, 16 Nov 2026 02:11:11 -0800 (PST)',
    'X-Original-Message-ID: <original@example.test>',
    '',
    `Final-Recipient: rfc822; ${recipient}`,
    'Action: failed',
    `Status: ${status}`,
    'Remote-MTA: dns; gmail-smtp-in.l.google.example. (192.0.2.26, the server for the domain.)',
    `Diagnostic-Code: ${diagnostic}`,
    'Last-Attempt-Date: Mon, 16 Nov 2026 02:11:12 -0800 (PST)',
    '',
    '--000000000000b1f3a70627001a2b',
    'Content-Type: message/rfc822',
    '',
    ...original(recipient),
    '',
    '--000000000000b1f3a70627001a2b--',
  )

export const complaint = ({ recipient, type = 'abuse' }: { recipient: string | undefined; type?: string }): string =>
  lines(
    'From: <feedback@mailbox.example>',
    'Date: Mon, 16 Nov 2026 10:11:12 +0000',
    'Subject: FW: Your receipt',
    'To: <sender@example.net>',
    'Message-ID: <arf-1@mailbox.example>',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="part1_13d.2e68ed54"',
    '',
    '--part1_13d.2e68ed54',
    'Content-Type: text/plain; charset="US-ASCII"',
    '',
    'This is an email abuse report.',
    '',
    '--part1_13d.2e68ed54',
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${type}`,
    'User-Agent: SomeGenerator/1.0',
    'Version: 1',
    'Original-Mail-From: <sender@example.net>',
    ...(recipient === undefined ? [] : [`Original-Rcpt-To: <${recipient}>`]),
    'Arrival-Date: Mon, 16 Nov 2026 10:00:00 +0000',
    '',
    '--part1_13d.2e68ed54',
    'Content-Type: message/rfc822',
    '',
    ...original('redacted@mailbox.example'),
    '',
    '--part1_13d.2e68ed54--',
  )

export type RelayedMail = { from: string; to: string[]; raw: string }

/** A relay that accepts everything. */
const startRelay = async () => {
  const relayed: RelayedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onData: (stream, { envelope }, done) => {
      void text(stream).then((raw) => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        relayed.push({ from, to: envelope.rcptTo.map(({ address }) => address), raw })
        done()
      }, done)
    },
  })
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  return {
    relayed,
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    stop: () => new Promise<void>((resolve) => server.close(resolve)),
  }
}

export type BouncingService = TestService & { port: number; relayed: RelayedMail[] }

/** A service that sends through a relay and receives bounces. */
export const startBouncingService = async (options: ServiceOptions = {}): Promise<BouncingService> => {
  const relay = await startRelay()
  const env = { EMAIL_PROVIDER: 'smtp', SMTP_URL: relay.url, INBOUND_SMTP_PORT: '0', ...options.env }
  const started = await startTestService({ ...options, env })
  return {
    ...started,
    port: started.service.inboundSmtpPort() as number,
    relayed: relay.relayed,
    stop: async () => {
      await started.stop()
      await relay.stop()
    },
  }
}

/** Delivers a message as a mail server does, with an empty sender. Resolves with the reply that decided. */
export const deliver = async (port: number, to: string | string[], raw: string, from = ''): Promise<string> => {
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true, name: 'mx.reader.test' })
  try {
    return (await transport.sendMail({ raw, envelope: { from, to } })).response
  } catch (error) {
    const { response } = error as { response?: string }
    if (response === undefined) throw error
    return response
  } finally {
    transport.close()
  }
}
