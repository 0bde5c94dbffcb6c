/** A request to every route of the service, and some that match no route, for rules that apply to all requests. */
import { newId } from '../../src/platform/ground/ids.ts'
import type { Reply, TestService } from '../service/service.ts'

export const requestsToEveryRoute = (
  { service, ask }: TestService,
  key: string,
  headers: Record<string, string> = {},
): (() => Promise<Reply>)[] => [
  ...service.routes.map(({ method, path, params = {} }) => () => {
    const named = path.replace(/\{(\w+)\}/g, (_, name) => newId(params[name] ?? 'request'))
    return ask(method, `/api/v1${named}`, { key, headers })
  }),
  () => ask('GET', '/api/v1/nowhere', { key, headers }),
  () => ask('PUT', '/api/v1/suppressions', { key, headers }),
  () => ask('POST', '/api/v1/suppressions', { key, headers, raw: '{"not": json' }),
]
