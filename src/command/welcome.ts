import type { Founded } from '../operator/found-org.ts'

/** The credentials of a new org and a request to try them with. */
export const credentials = (founded: Founded): string => {
  const { base_url, org, owner, keys, domain, sms_sender } = founded
  return `    organisation   ${org.slug}  (${org.id})
    owner          ${owner.email}
    password       ${owner.password ?? 'unchanged'}
    live key       ${keys.live}
    test key       ${keys.test}
    email domain   ${domain ?? 'none yet'}
    SMS sender     ${sms_sender ?? 'none yet'}

  Try a first request:

    curl ${base_url}/api/v1/suppressions \\
      -H 'Authorization: Bearer ${keys.live}' \\
      -H 'Content-Type: application/json' \\
      -d '{"channel":"email","value":"someone@example.com"}'
`
}

/** What the first start prints, once: enough to act on without reading anything else. */
export const welcome = (founded: Founded): string => `
  Tidings is ready at ${founded.base_url}

  This is the first start, so these were made for you. They are shown once; keep them.

${credentials(founded)}
  API reference: ${founded.base_url}/docs      Stop with Ctrl-C.

`
