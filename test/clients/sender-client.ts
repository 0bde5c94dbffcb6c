/** Calls the routes of brands, campaigns and numbers for one org, and steers the simulated registry. */
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import type { Reply, TestService } from '../service/service.ts'

export const completeBrand = {
  display_name: 'Example',
  legal_company_name: 'Example Inc.',
  entity_type: 'private_profit',
  ein: '12-3456789',
  vertical: 'technology',
  website: 'https://example.com',
  email: 'ops@example.com',
  street: '1 Main St',
  city: 'Austin',
  state_region: 'TX',
  postal_code: '78701',
  country: 'US',
  contact_first_name: 'Ada',
  contact_last_name: 'Lovelace',
  contact_phone: '+15125550100',
}

export const campaignOf = (brand_id: string, more: object = {}) => ({
  brand_id,
  name: 'Order updates',
  kind: '10dlc',
  use_case: 'delivery_notification',
  description: 'Order and delivery updates',
  sample_messages: ['Your order 42 has shipped.'],
  message_flow: 'Customers tick a box at checkout to get order updates by text.',
  ...more,
})

type Noun = 'brands' | 'campaigns' | 'phone-numbers'

export type SenderClient = {
  create(noun: Noun, body: unknown, key?: string, headers?: Record<string, string>): Promise<Reply>
  get(noun: Noun, id: string, key?: string): Promise<Reply>
  list(noun: Noun, query?: string, key?: string): Promise<Reply>
  patch(noun: Noun, id: string, body?: unknown, key?: string): Promise<Reply>
  remove(noun: Noun, id: string, key?: string): Promise<Reply>
  /** Registers it, which must succeed, and returns its id. */
  made(noun: Noun, body: unknown, key?: string): Promise<string>
  verifiedBrand(key?: string): Promise<string>
  verifiedCampaign(more?: object, key?: string): Promise<string>
}

export const runTask = async (t: TestService, task: string): Promise<Record<string, number>> => {
  const reply = await t.ask('POST', '/api/dev/run', { body: { task } })
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.body.counts
}

export const poll = (t: TestService) => runTask(t, 'status_poll')

export const setRegistry = async (t: TestService, id: string, status: string, more: object = {}): Promise<void> => {
  const reply = await t.ask('POST', '/api/dev/registry', { body: { id, status, ...more } })
  if (reply.status !== 200) throw new Error(reply.text)
}

/** Uses the org's live key by default. */
export const senderClient = (t: TestService, { keys: { live } }: Pick<CreatedOrg, 'keys'>): SenderClient => {
  const at = (noun: Noun, id?: string) => `/api/v1/${noun}${id === undefined ? '' : `/${id}`}`
  const create: SenderClient['create'] = (noun, body, key = live, headers = {}) =>
    t.ask('POST', at(noun), { key, body, headers })
  const made: SenderClient['made'] = async (noun, body, key = live) => {
    const reply = await create(noun, body, key)
    if (reply.status !== 201) throw new Error(reply.text)
    return reply.body.id
  }
  const verifiedBrand: SenderClient['verifiedBrand'] = async (key = live) => {
    const id = await made('brands', completeBrand, key)
    await poll(t)
    return id
  }
  return {
    create,
    made,
    verifiedBrand,
    get: (noun, id, key = live) => t.ask('GET', at(noun, id), { key }),
    list: (noun, query = '', key = live) => t.ask('GET', `${at(noun)}${query}`, { key }),
    patch: (noun, id, body, key = live) => t.ask('PATCH', at(noun, id), { key, body }),
    remove: (noun, id, key = live) => t.ask('DELETE', at(noun, id), { key }),
    verifiedCampaign: async (more = {}, key = live) => {
      const id = await made('campaigns', campaignOf(await verifiedBrand(key), more), key)
      await poll(t)
      return id
    },
  }
}
