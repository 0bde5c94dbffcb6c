/** Calls the routes of DLT registrations for one org, and runs their status poll. */
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import type { Reply, TestService } from '../service/service.ts'

export type DltClient = {
  /** The nouns are `entities`, `headers` and `templates`. */
  create(noun: string, body: unknown, key?: string): Promise<Reply>
  get(noun: string, id: string, key?: string): Promise<Reply>
  list(noun: string, query?: string, key?: string): Promise<Reply>
  remove(noun: string, id: string, key?: string): Promise<Reply>
  /** The following register something, which must succeed, and return its id. */
  entity(key?: string): Promise<string>
  header(options?: { key?: string; entity?: string }): Promise<string>
  template(options?: { key?: string; header?: string }): Promise<string>
  /** Makes the simulated registry report this status. */
  report(id: string, status: string, more?: object): Promise<void>
  poll(): Promise<Record<string, number>>
}

export const dltClient = (t: TestService, { keys: { live } }: CreatedOrg): DltClient => {
  const at = '/api/v1/dlt'
  const create: DltClient['create'] = (noun, body, key = live) => t.ask('POST', `${at}/${noun}`, { key, body })
  const get: DltClient['get'] = (noun, id, key = live) => t.ask('GET', `${at}/${noun}/${id}`, { key })
  const made = async (noun: string, body: unknown, key = live): Promise<string> => {
    const reply = await create(noun, body, key)
    if (reply.status !== 201) throw new Error(reply.text)
    return reply.body.id
  }
  const dev = async (path: string, body: object) => {
    const reply = await t.ask('POST', `/api/dev/${path}`, { body })
    if (reply.status !== 200) throw new Error(reply.text)
    return reply.body
  }
  const entity = (key = live) => made('entities', { entity_id: '1101234567890123456', legal_name: 'Acme India' }, key)
  const header: DltClient['header'] = async ({ key = live, entity: of } = {}) =>
    made('headers', { entity: of ?? (await entity(key)), header: 'ACMEIN', category: 'transactional' }, key)
  return {
    create,
    get,
    entity,
    header,
    list: (noun, query = '', key = live) => t.ask('GET', `${at}/${noun}${query}`, { key }),
    remove: (noun, id, key = live) => t.ask('DELETE', `${at}/${noun}/${id}`, { key }),
    template: async ({ key = live, header: of } = {}) => {
      const headerId = of ?? (await header({ key }))
      const { entity: entityId } = (await get('headers', headerId, key)).body
      const text = { name: 'OTP', category: 'transactional', content: 'Your code is {#var#}' }
      return made('templates', { entity: entityId, header: headerId, ...text }, key)
    },
    report: (id, status, more = {}) => dev('registry', { id, status, ...more }),
    poll: async () => (await dev('run', { task: 'status_poll' })).counts,
  }
}
