/** The SMTP server that mail clients submit messages to. */
import type { SubmissionConfig } from '../../platform/ground/config/config.ts'
import { megabyte } from '../../platform/ground/units.ts'
import { makeMailParser } from './mail-parser.ts'
import { makeSmtpHandlers } from './smtp-handlers.ts'
import { makeSmtpPort, type SmtpPort } from './smtp-port.ts'
import { makeSubmit, type SubmitNeeds } from './submit.ts'

const maxMessageBytes = 10 * megabyte

type Needs = SubmitNeeds & { config: SubmissionConfig; production: boolean; serviceDomain: string }

export const makeSubmission = (needs: Needs): SmtpPort => {
  const { config, production, serviceDomain, log } = needs
  const parser = makeMailParser()
  return makeSmtpPort({
    listen: config,
    variables: { port: 'SMTP_SUBMISSION_PORT', host: 'SMTP_SUBMISSION_HOST' },
    tls: config.tls === 'off' ? undefined : config,
    implicitTls: config.tls === 'implicit',
    maxConnections: 200,
    options: {
      name: serviceDomain,
      size: maxMessageBytes,
      authMethods: ['PLAIN', 'LOGIN'],
      allowInsecureAuth: !production,
      authRequiredMessage: '5.7.0 UNAUTHORIZED Authentication required: the password must be a valid API key.',
    },
    parser,
    log,
    name: 'smtp',
    handle: (disconnect, disabledCommands) =>
      makeSmtpHandlers({
        submit: makeSubmit({ ...needs, parser }),
        log,
        disconnect,
        disabledCommands,
        // In production, AUTH is offered only after STARTTLS.
        requiresStartTls: config.tls === 'starttls' && production,
        allowBareLf: config.allowBareLf,
      }),
  })
}
