/** Calls the routes of pools for one org, and inserts senders into its database. */
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import type { Environment } from '../../src/platform/ground/scope.ts'
import type { Ask, Reply, TestService } from '../service/service.ts'

type SenderOptions = { environment?: Environment; status?: string; tenantId?: string | null; orgId?: string }

export type PoolClient = {
  create(body: unknown, options?: Ask): Promise<Reply>
  get(id: string, key?: string): Promise<Reply>
  list(query?: string, key?: string): Promise<Reply>
  patch(id: string, body: unknown, key?: string): Promise<Reply>
  remove(id: string, key?: string): Promise<Reply>
  /** Creates a pool, which must succeed, and returns its id. */
  made(body?: object, options?: Ask): Promise<string>
  /** Inserts a number, verified unless another status is given, and returns its id. */
  sender(options?: SenderOptions): Promise<string>
  tenantOf(senderId: string): Promise<string | null>
}

let slugs = 0
export const freshSlug = (): string => `pool-${++slugs}`

let numbers = 0
const freshNumber = (): string => `+1206555${String(++numbers).padStart(4, '0')}`

export const poolClient = (t: TestService, { org, keys: { live } }: CreatedOrg): PoolClient => {
  const at = '/api/v1/pools'
  const create: PoolClient['create'] = (body, options = {}) => t.ask('POST', at, { key: live, body, ...options })
  const sender: PoolClient['sender'] = async (options = {}) => {
    const { environment = 'live', status = 'verified', tenantId = null, orgId = org.id } = options
    const id = newId('phoneNumber')
    await t.database.sql(
      `insert into phone_numbers
         (org_id, id, tenant_id, environment, kind, type, e164, iso_country, status, created_at, updated_at)
       values ($1, $2, $3, $4, 'number', 'longcode', $5, 'US', $6, $7, $7)`,
      [orgId, id, tenantId, environment, freshNumber(), status, t.service.clock.now()],
    )
    return id
  }
  return {
    create,
    sender,
    get: (id, key = live) => t.ask('GET', `${at}/${id}`, { key }),
    list: (query = '', key = live) => t.ask('GET', `${at}${query}`, { key }),
    patch: (id, body, key = live) => t.ask('PATCH', `${at}/${id}`, { key, body }),
    remove: (id, key = live) => t.ask('DELETE', `${at}/${id}`, { key }),
    made: async (body = {}, options = {}) => {
      const members = 'phone_number_ids' in body ? {} : { phone_number_ids: [await sender()] }
      const reply = await create({ slug: freshSlug(), name: 'Codes', ...members, ...body }, options)
      if (reply.status !== 201) throw new Error(reply.text)
      return reply.body.id
    },
    tenantOf: async (id) => {
      const [row] = await t.database.sql<{ tenant_id: string | null }>(
        'select tenant_id from phone_numbers where id = $1',
        [id],
      )
      return row?.tenant_id ?? null
    },
  }
}
