/** The tools of the tool protocol: which operations of the API they offer, and what a client should know about each. */
import type { ScopeName } from '../../../customers/keys/scopes.ts'
import type { PublicRoute } from '../route.ts'
import { toolSchema } from './tool-schema.ts'
import { toolTexts } from './tool-texts.ts'

type Offer = {
  /** The operation of the API description. */
  operation: string
  /** What the tool does to data: reads it, adds to it, or does what cannot be taken back. */
  effect: 'read' | 'add' | 'destroy'
  /** Calling it again with the same arguments has no further effect. */
  repeatable?: true
  /** For tools that write to people. */
  warning?: string
}

const read = (operation: string): Offer => ({ operation, effect: 'read' })

const live = 'With a live credential this sends a real message to real people, and it cannot be taken back.'
const send = (operation: string): Offer => ({ operation, effect: 'destroy', warning: live })

/** No tool manages keys, rotates secrets, erases tenants or deletes domains. */
export const offers: Record<string, Offer> = {
  send_email: send('sendEmail'),
  send_email_batch: send('sendEmailBatch'),
  list_emails: read('listEmails'),
  get_email: read('getEmail'),
  cancel_email: { operation: 'cancelEmail', effect: 'destroy', repeatable: true },
  send_sms: send('sendSms'),
  send_sms_batch: send('sendSmsBatch'),
  list_sms: read('listSms'),
  get_sms: read('getSms'),
  cancel_sms: { operation: 'cancelSms', effect: 'destroy', repeatable: true },
  start_verification: send('startVerification'),
  check_verification: { operation: 'checkVerification', effect: 'destroy' },
  list_audiences: read('listAudiences'),
  send_audience: {
    operation: 'sendToAudience',
    effect: 'destroy',
    warning: 'With a live credential this sends real messages to every contact of the audience.',
  },
  cancel_job: { operation: 'cancelJob', effect: 'destroy', repeatable: true },
  create_contact: { operation: 'createContact', effect: 'add' },
  list_contacts: read('listContacts'),
  list_templates: read('listTemplates'),
  list_domains: read('listDomains'),
  add_domain: { operation: 'createDomain', effect: 'add' },
  get_domain: read('getDomain'),
  verify_domain: { operation: 'verifyDomain', effect: 'add', repeatable: true },
  list_webhooks: read('listWebhooks'),
  create_webhook: { operation: 'createWebhook', effect: 'add' },
  update_webhook: { operation: 'updateWebhook', effect: 'destroy', repeatable: true },
  test_fire_webhook: { operation: 'testWebhook', effect: 'add' },
  list_webhook_deliveries: read('listWebhookDeliveries'),
  replay_failed_deliveries: { operation: 'replayFailedWebhookDeliveries', effect: 'add' },
  list_suppressions: read('listSuppressions'),
  add_suppression: { operation: 'addSuppressions', effect: 'add', repeatable: true },
  remove_suppression: { operation: 'deleteSuppressionByTarget', effect: 'destroy', repeatable: true },
  list_inbound: read('listInboundMessages'),
  get_analytics: read('getAnalytics'),
  get_usage: read('getUsage'),
  list_phone_numbers: read('listPhoneNumbers'),
  list_brands: read('listBrands'),
  list_campaigns: read('listCampaigns'),
  list_tenants: read('listTenants'),
}

export type McpTool = {
  name: string
  route: PublicRoute
  scopes: readonly ScopeName[]
  /** As `tools/list` shows it. */
  shown: () => ReturnType<typeof show>
}

const annotationsOf = ({ effect, repeatable }: Offer): Record<string, boolean> =>
  effect === 'read'
    ? { readOnlyHint: true, openWorldHint: false }
    : {
        readOnlyHint: false,
        destructiveHint: effect === 'destroy',
        idempotentHint: repeatable === true,
        openWorldHint: true,
      }

const descriptionOf = (name: string, { warning }: Offer): string => {
  const text = toolTexts[name]
  if (!text) throw new Error(`The tool ${name} has no text.`)
  return [text.does, text.when, text.returns, warning].filter(Boolean).join(' ')
}

const show = (name: string, route: PublicRoute, offer: Offer) => ({
  name,
  title: route.summary,
  description: descriptionOf(name, offer),
  inputSchema: toolSchema(route),
  annotations: { title: route.summary, ...annotationsOf(offer) },
})

/** Schemas are made when a client first asks for them: most processes never serve a tool. */
const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

export const makeMcpTools = (routes: readonly PublicRoute[]): Map<string, McpTool> => {
  const byOperation = new Map(routes.map((route) => [route.operationId, route]))
  const tools = Object.entries(offers).map(([name, offer]): [string, McpTool] => {
    const route = byOperation.get(offer.operation)
    if (!route) throw new Error(`The tool ${name} offers ${offer.operation}, which is not an operation.`)
    const scopes = typeof route.access.scope === 'string' ? [route.access.scope] : route.access.scope
    return [name, { name, route, scopes, shown: once(() => show(name, route, offer)) }]
  })
  return new Map(tools)
}
