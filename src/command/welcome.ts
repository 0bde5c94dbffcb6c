import type { CreatedOrg } from '../operator/create-org.ts'

/** Without a proven domain only a simulated email can be sent, which needs none. */
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

/** The credentials of a new org and a request to try them with. */
export const credentials = (founded: CreatedOrg): string => {
  const { org, owner, keys, domain, sms_sender } = founded
  return `    organisation   ${org.slug}  (${org.id})
    owner          ${owner.email}
    password       ${owner.password ?? 'unchanged'}
    live key       ${keys.live}
    test key       ${keys.test}
    email domain   ${domain ?? 'none yet'}
    SMS sender     ${sms_sender ?? 'none yet'}

  Send a first email:

${firstEmail(founded)}`
}

/** What the first start prints, once: enough to act on without reading anything else. */
export const welcome = (founded: CreatedOrg): string => `
  Tidings is ready at ${founded.base_url}

  This is the first start, so these were made for you. They are shown once; keep them.

${credentials(founded)}
  What was sent: ${founded.base_url}/api/dev/outbox
  API reference: ${founded.base_url}/docs      Stop with Ctrl-C.

`
