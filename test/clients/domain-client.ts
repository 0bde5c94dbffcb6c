/** Calls the domain routes for one org, and reads related rows. */
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import type { TestDatabase } from '../service/database.ts'
import type { Reply, TestService } from '../service/service.ts'

export type DomainClient = {
  create(body: unknown, key?: string): Promise<Reply>
  /** Adds a domain, which must succeed, and returns its id. */
  added(name: string, key?: string, more?: object): Promise<string>
  get(id: string, key?: string): Promise<Reply>
  list(query?: string, key?: string): Promise<Reply>
  verify(id: string, key?: string): Promise<Reply>
  patch(id: string, body: unknown, key?: string): Promise<Reply>
  remove(id: string, key?: string): Promise<Reply>
  startWarmup(id: string, body?: unknown, key?: string): Promise<Reply>
  endWarmup(id: string, key?: string): Promise<Reply>
}

/** Uses the org's live key by default. */
export const domainClient = (t: TestService, { keys: { live } }: CreatedOrg): DomainClient => {
  const at = '/api/v1/domains'
  const create = (body: unknown, key = live) => t.ask('POST', at, { key, body })
  return {
    create,
    added: async (name, key = live, more = {}) => {
      const reply = await create({ name, ...more }, key)
      if (reply.status !== 201) throw new Error(reply.text)
      return reply.body.id
    },
    get: (id, key = live) => t.ask('GET', `${at}/${id}`, { key }),
    list: (query = '', key = live) => t.ask('GET', `${at}${query}`, { key }),
    verify: (id, key = live) => t.ask('POST', `${at}/${id}/verify`, { key }),
    patch: (id, body, key = live) => t.ask('PATCH', `${at}/${id}`, { key, body }),
    remove: (id, key = live) => t.ask('DELETE', `${at}/${id}`, { key }),
    startWarmup: (id, body, key = live) => t.ask('POST', `${at}/${id}/warmup`, { key, body }),
    endWarmup: (id, key = live) => t.ask('DELETE', `${at}/${id}/warmup`, { key }),
  }
}

export type EventRow = {
  event: string
  tenant_id: string | null
  environment: string | null
  data: Record<string, unknown>
}

/** Events about one resource, oldest first. */
export const eventsOf = (database: TestDatabase, id: string): Promise<EventRow[]> =>
  database.sql<EventRow>(
    "select event, tenant_id, environment, data from events where data ->> 'id' = $1 order by created_at, id",
    [id],
  )

export const runDomains = async (t: TestService): Promise<Record<string, number>> =>
  (await t.ask('POST', '/api/dev/run', { body: { task: 'domains' } })).body.counts

export const report = (t: TestService, id: string, status: string): Promise<Reply> =>
  t.ask('POST', '/api/dev/registry', { body: { id, status } })
