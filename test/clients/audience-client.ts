/** Calls the routes of contacts and audiences for one org. */
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import type { Ask, Reply, TestService } from '../service/service.ts'

export type AudienceClient = {
  create(body: unknown, options?: Ask): Promise<Reply>
  /** Creates an audience, which must succeed, and returns its id. */
  made(body?: object, options?: Ask): Promise<string>
  get(id: string, key?: string): Promise<Reply>
  add(id: string, body: unknown, options?: Ask): Promise<Reply>
  members(id: string, query?: string, key?: string): Promise<Reply>
  unlink(id: string, contactId: string, key?: string): Promise<Reply>
  remove(id: string, key?: string): Promise<Reply>
  importCsv(id: string, csv: string | Buffer, options?: Ask): Promise<Reply>
  exportCsv(id: string, key?: string): Promise<Reply>
  contact(body: unknown, options?: Ask): Promise<Reply>
  contacts(query?: string, key?: string): Promise<Reply>
  contactOf(id: string, key?: string): Promise<Reply>
  patchContact(id: string, body: unknown, key?: string): Promise<Reply>
  deleteContact(id: string, key?: string): Promise<Reply>
}

export const audienceClient = (t: TestService, { keys: { live } }: Pick<CreatedOrg, 'keys'>): AudienceClient => {
  const [audiences, contacts] = ['/api/v1/audiences', '/api/v1/contacts']
  const create: AudienceClient['create'] = (body, options = {}) =>
    t.ask('POST', audiences, { key: live, body, ...options })
  return {
    create,
    made: async (body = {}, options = {}) => {
      const reply = await create({ name: 'Beta users', ...body }, options)
      if (reply.status !== 201) throw new Error(reply.text)
      return reply.body.id
    },
    get: (id, key = live) => t.ask('GET', `${audiences}/${id}`, { key }),
    add: (id, body, options = {}) => t.ask('POST', `${audiences}/${id}/contacts`, { key: live, body, ...options }),
    members: (id, query = '', key = live) => t.ask('GET', `${audiences}/${id}/contacts${query}`, { key }),
    unlink: (id, contactId, key = live) => t.ask('DELETE', `${audiences}/${id}/contacts/${contactId}`, { key }),
    remove: (id, key = live) => t.ask('DELETE', `${audiences}/${id}`, { key }),
    importCsv: (id, csv, options = {}) =>
      t.ask('POST', `${audiences}/${id}/import-csv`, {
        key: live,
        raw: csv,
        ...options,
        headers: { 'content-type': 'text/csv', ...options.headers },
      }),
    exportCsv: (id, key = live) => t.ask('GET', `${audiences}/${id}/export-csv`, { key }),
    contact: (body, options = {}) => t.ask('POST', contacts, { key: live, body, ...options }),
    contacts: (query = '', key = live) => t.ask('GET', `${contacts}${query}`, { key }),
    contactOf: (id, key = live) => t.ask('GET', `${contacts}/${id}`, { key }),
    patchContact: (id, body, key = live) => t.ask('PATCH', `${contacts}/${id}`, { key, body }),
    deleteContact: (id, key = live) => t.ask('DELETE', `${contacts}/${id}`, { key }),
  }
}
