/** Calls the tenant routes for one org. */
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import type { Reply, TestService } from '../service/service.ts'

export type TenantState = 'active' | 'suspended' | 'archived' | 'erased'
export type Move = 'suspend' | 'unsuspend' | 'archive' | 'restore' | 'erase'

export type TenantClient = {
  create(body: unknown, key?: string): Promise<Reply>
  get(id: string, key?: string): Promise<Reply>
  list(query?: string, key?: string): Promise<Reply>
  patch(id: string, body: unknown, key?: string): Promise<Reply>
  quota(id: string, body: unknown, key?: string): Promise<Reply>
  usage(id: string, query?: string, key?: string): Promise<Reply>
  move(name: Move, id: string, key?: string): Promise<Reply>
  /** Creates a tenant, moves it to the given state through the routes, and returns its id. */
  made(state?: TenantState, body?: Record<string, unknown>): Promise<string>
}

const movesTo: Record<TenantState, Move[]> = {
  active: [],
  suspended: ['suspend'],
  archived: ['archive'],
  erased: ['archive', 'erase'],
}

/** Uses the org's live key by default. */
export const tenantClient = ({ ask }: Pick<TestService, 'ask'>, { keys }: Pick<CreatedOrg, 'keys'>): TenantClient => {
  const path = '/api/v1/tenants'
  const { live } = keys
  const move: TenantClient['move'] = (name, id, key = live) =>
    name === 'archive' ? ask('DELETE', `${path}/${id}`, { key }) : ask('POST', `${path}/${id}/${name}`, { key })
  const create: TenantClient['create'] = (body, key = live) => ask('POST', path, { key, body })
  return {
    create,
    get: (id, key = live) => ask('GET', `${path}/${id}`, { key }),
    list: (query = '', key = live) => ask('GET', `${path}${query}`, { key }),
    patch: (id, body, key = live) => ask('PATCH', `${path}/${id}`, { key, body }),
    quota: (id, body, key = live) => ask('PATCH', `${path}/${id}/quota`, { key, body }),
    usage: (id, query = '', key = live) => ask('GET', `${path}/${id}/usage${query}`, { key }),
    move,
    made: async (state = 'active', body = {}) => {
      const { id } = (await create({ name: 'Made', ...body })).body
      for (const name of movesTo[state]) {
        const reply = await move(name, id)
        if (reply.status !== 200) throw new Error(`${name} returned ${reply.status}: ${reply.text}`)
      }
      return id
    },
  }
}
