/** Calls the key routes for one org, and reads related rows. */
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import { sha256 } from '../../src/platform/ground/crypto.ts'
import type { KeyOptions, Reply, TestService } from '../service/service.ts'

export type Body = Record<string, unknown>
export type Held = { key: string; id: string }

export type KeyClient = {
  create(body: unknown, key?: string, headers?: Record<string, string>): Promise<Reply>
  patch(id: string, body: unknown, key?: string, headers?: Record<string, string>): Promise<Reply>
  revoke(id: string, key?: string, headers?: Record<string, string>): Promise<Reply>
  get(id: string, key?: string, headers?: Record<string, string>): Promise<Reply>
  list(query?: string, key?: string, headers?: Record<string, string>): Promise<Reply>
  /** Inserts a key with any restriction directly into the database. */
  held(options?: KeyOptions): Promise<Held>
  /** The org's first domain and its default project. */
  domainId: string
  projectId: string
}

/** Uses the org's live key by default. */
export const keyClient = async (t: TestService, { org, keys }: CreatedOrg): Promise<KeyClient> => {
  const path = '/api/v1/keys'
  const first = async (table: 'domains' | 'projects'): Promise<string> => {
    const rows = await t.database.sql<{ id: string }>(
      `select id from ${table} where org_id = $1 order by created_at, id limit 1`,
      [org.id],
    )
    return rows[0]?.id as string
  }
  const { live } = keys
  return {
    create: (body, key = live, headers = {}) => t.ask('POST', path, { key, body, headers }),
    patch: (id, body, key = live, headers = {}) => t.ask('PATCH', `${path}/${id}`, { key, body, headers }),
    revoke: (id, key = live, headers = {}) => t.ask('DELETE', `${path}/${id}`, { key, headers }),
    get: (id, key = live, headers = {}) => t.ask('GET', `${path}/${id}`, { key, headers }),
    list: (query = '', key = live, headers = {}) => t.ask('GET', `${path}${query}`, { key, headers }),
    held: async (options = {}) => {
      const key = await t.key(org.id, options)
      return { key, id: await keyIdOf(t, key) }
    },
    domainId: await first('domains'),
    projectId: await first('projects'),
  }
}

export const keyIdOf = async (t: TestService, key: string): Promise<string> => {
  const rows = await t.database.sql<{ id: string }>('select id from api_keys where hash = $1', [sha256(key)])
  return rows[0]?.id as string
}

/** Resets the hourly limit on key creation, for tests that are not about that limit. */
export const resetKeyCreationLimit = (t: TestService): Promise<unknown> =>
  t.database.sql("update api_keys set origin = 'operator' where origin <> 'operator'")

export const advance = (t: TestService, seconds: number): Promise<Reply> =>
  t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })
