/** The routes of a resource with described forms. Only the service knows what fits in a body, so bodies have no types here. */
import { api, unwrap } from '../../api/client.ts'
import type { Mode } from '../../api/mode.ts'
import type { components, paths } from '../../api/schema.gen.ts'
import { type ListPage, pageOf } from '../../ui/use-pages.ts'

export type Body = Record<string, unknown>

type WithQuery = keyof {
  [P in keyof paths as paths[P] extends { get: { parameters: { query?: { id?: string } } } } ? P : never]: P
}
type WithPath = keyof { [P in keyof paths as P extends `${infer Base}/{id}` ? Base : never]: P }

/** Routes that name a row in the query. */
export const routesOf = <Row>(path: WithQuery, ofMode = false) => {
  const route = path as '/api/internal/brands'
  const byId = (id: string) => ({ params: { query: { id } } })
  return {
    load: (cursor: string | undefined, environment: Mode) => {
      const query = { ...pageOf(cursor, 50), ...(ofMode && { environment }) }
      return unwrap(api.GET(route, { params: { query } })) as Promise<ListPage<Row>>
    },
    read: (id: string) => unwrap(api.GET(route, byId(id))) as Promise<Row>,
    add: (body: Body) =>
      unwrap(api.POST(route, { body: body as components['schemas']['CreateBrand'] })) as Promise<Row>,
    change: (id: string, body: Body) => unwrap(api.PATCH(route, { ...byId(id), body })),
    /** Asks the registry again. */
    check: (id: string) => unwrap(api.PATCH(route, { ...byId(id), body: {} })) as Promise<{ status?: string }>,
    remove: (id: string) => unwrap(api.DELETE(route, byId(id))),
  }
}

/** Routes that name a row in the path. */
export const routesById = <Row>(path: WithPath) => {
  const list = path as '/api/internal/projects'
  const one = `${list}/{id}` as const
  const byId = (id: string) => ({ params: { path: { id } } })
  return {
    load: (cursor: string | undefined) =>
      unwrap(api.GET(list, { params: { query: pageOf(cursor, 50) } })) as Promise<ListPage<Row>>,
    read: (id: string) => unwrap(api.GET(one, byId(id))) as Promise<Row>,
    add: (body: Body) => unwrap(api.POST(list, { body: body as { name: string } })) as Promise<Row>,
    change: (id: string, body: Body) => unwrap(api.PATCH(one, { ...byId(id), body })),
    remove: (id: string) => unwrap(api.DELETE(one, byId(id))),
  }
}
