/** The table of rooms and folders in docs/architecture.md. */
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { house } from './architecture.ts'

const purposes: Record<string, string> = {
  'app/command': 'the commands: serve, operator commands, finding the database',
  'app/wiring': 'builds the service from its modules; the only place that knows all of them',
  'app/operator': 'creating an org, the master key, backups',
  'interfaces/http/v1': 'the public API: one file for each noun in its paths',
  'interfaces/http/dashboard': '`/api/internal` and `/api/auth`: the routes of the dashboard',
  'interfaces/http/public': 'health, metrics, the API reference, tracking links, unsubscribing',
  'interfaces/http/web': 'the built dashboard: its hashed files, and its page at paths of no other part',
  'interfaces/http/oauth': 'the authorization server: discovery, registration, authorization, tokens, revocation',
  'interfaces/http/mcp': 'the tool protocol: which operations are tools, and each call as a request to the own API',
  'interfaces/http/provider': 'signed notifications from providers',
  'interfaces/http/scim': '`/scim/v2`: the routes that a directory calls',
  'interfaces/http/dev': 'the development tools',
  'interfaces/inbound-smtp': 'the SMTP server that receives bounces, complaints and mail for inbound domains',
  'interfaces/http': 'server, areas, doors, validation, forms of errors, pages, OpenAPI, metrics',
  'interfaces/submission': 'the SMTP server, which sends through the same pipeline as `POST /emails`',
  'interfaces/worker': 'the claim loop, the webhook loop, recurring tasks',
  'sending/blasts': 'sends to audiences: recipients, ramps, quiet hours, jobs, the choice of the best subject',
  'sending/inbound': 'messages from phones and mailboxes: storing them, opt-outs, events, reads',
  'sending/verifications': 'one-time codes: start, ceilings, check, retention',
  'sending/messages': 'the send pipeline (gates, reservation, provider, record), the scheduler, outcomes, reads',
  'sending/templates': 'the template language and stored templates',
  'sending/tracking': 'links in mail: signing, rewriting, counting, unsubscribing',
  'reports/analytics': 'figures of messages by day, job and subject variant',
  'reports/exports': 'exports of orgs and of personal data, and the files of export jobs',
  'reports/overview': 'the state of an org on the first page of the dashboard',
  'reports/health': 'the state of each part of the service, recorded every minute',
  'people/billing': 'plans and their payment, the spend cap and the mails about it',
  'people/scim':
    'what the directory of an org says about people and groups, its tokens, and the roles that groups give',
  'people/sso': 'single sign-on of orgs: settings, verified email domains, SAML and OpenID Connect',
  'people/team': 'members, invitations, the owner pointer, creating and deleting orgs, deleting accounts',
  'people/oauth': 'clients that act for a person: requests, consents, grants, tokens',
  'people/signin': 'registration, sign-in with password, code, second factor and providers, and their limits and mails',
  'senders/domains': 'sending domains: DNS records, checks, IP pools, and who may send from a domain',
  'senders/sms': 'SMS senders: brands, campaigns and numbers, their registration, and which one a message is sent from',
  'recipients/audiences': 'contacts, audiences and their members, CSV import and export',
  'recipients/suppressions': 'addresses and numbers that get no messages',
  webhooks: 'endpoints, fan-out of events, deliveries',
  'customers/admission': 'the gates that a key passes, over HTTP and SMTP alike',
  'customers/accounts': 'people, passwords and the turns of their hashing, sessions and their policies',
  'customers/keys': 'API keys, scopes, callers',
  'customers/projects': 'projects',
  'customers/tenants': 'tenants and their erasure',
  'customers/usage': 'quotas and spend: one reservation per send',
  'customers/orgs': 'organisations and plans',
  'journal/audit': 'the audit log, written in the transaction of the change that it records',
  'journal/events': 'the outbox, written in the transaction of the change that it announces',
  providers:
    '`local`, `smtp` and `ses` for email, `local`, `aws` and `smpp` for SMS, behind one interface per channel; `local` and `stripe` for payments; object stores',
  'platform/processes': 'several processes on one machine: the primary, and what its child processes share through it',
  'platform/replica':
    'reads from a replica: marks of writes, the watch of log positions, the handle that chooses the server',
  'platform/idempotency': 'idempotency claims and recorded responses',
  'platform/limits': 'sliding windows, in process and on Redis; the buckets of limits per address',
  'platform/settings': 'settings of the installation',
  'platform/outgoing': 'guarded requests to URLs that customers choose',
  'platform/traces': 'the exporter of spans, which is loaded only when it is configured',
  'platform/db': 'the database layer',
  'platform/ground': 'configuration, clock, ids, error catalogue, crypto, log, cursors, addresses',
}

const rowsOf = (room: string, layers: string[][]): string[] =>
  layers.flat().map((folder, i) => {
    const path = folder === '' ? room : `${room}/${folder}`
    const purpose = purposes[path]
    if (purpose === undefined) throw new Error(`scripts/house-table.ts does not say what src/${path}/ is for`)
    return `| ${i === 0 ? `\`${room}/\`` : ''} | ${folder === '' ? '' : `\`${folder}/\``} | ${purpose} |`
  })

const houseTable = (): string =>
  [
    '| room | folder | purpose |',
    '|---|---|---|',
    ...house.flatMap((floor) => Object.entries(floor).flatMap(([room, layers]) => rowsOf(room, layers))),
  ].join('\n')

const marked = /(<!-- The table is generated by `npm run docs`\. -->\n\n)[\s\S]*?(\n\n<!-- end of the table -->)/

export const architecturePage = async (): Promise<string> => {
  const page = await readFile(join(dirname(import.meta.dirname), 'docs/architecture.md'), 'utf8')
  if (!marked.test(page)) throw new Error('docs/architecture.md has lost the marks of its generated table')
  return page.replace(marked, (_, before: string, after: string) => `${before}${houseTable()}${after}`)
}
