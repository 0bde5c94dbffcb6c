import type { CreatedOrg } from '../operator/create-org.ts'

/** Without a verified domain, the example uses the test key: test mode does not need a domain. */
const firstEmail = ({ base_url, keys, domain }: CreatedOrg): string => {
  const mail = {
    from: `hello@${domain ?? 'example.com'}`,
    to: ['ada@example.com'],
    subject: 'Hello',
    text: 'It works.',
  }
  return `    curl ${base_url}/api/v1/emails \\
      -H 'Authorization: Bearer ${domain === null ? keys.test : keys.live}' \\
      -H 'Content-Type: application/json' \\
      -d '${JSON.stringify(mail)}'
`
}

/** The credentials of a new org, and a request to try them. */
export const credentials = (created: CreatedOrg): string => {
  const { org, owner, keys, domain, sms_sender } = created
  return `    organisation   ${org.slug}  (${org.id})
    owner          ${owner.email}
    password       ${owner.password ?? 'unchanged'}
    live key       ${keys.live}
    test key       ${keys.test}
    email domain   ${domain ?? 'none yet'}
    SMS sender     ${sms_sender ?? 'none yet'}

  Send your first email:

${firstEmail(created)}`
}

/** Printed once, at the first start. */
export const welcome = (created: CreatedOrg, signInLink: string): string => `
  Tidings is ready at ${created.base_url}

  Open the dashboard with this link, which signs you in once within the next hour:

    ${signInLink}

  This is the first start, so an organisation was created for you. Save these credentials: they are shown only once.

${credentials(created)}
  Sent messages: ${created.base_url}/api/dev/outbox
  API reference: ${created.base_url}/docs      Stop with Ctrl-C.

`
