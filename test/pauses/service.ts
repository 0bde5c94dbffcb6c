/** Starts the service as a process of its own and prepares one row of every kind, so that payloads reach the handlers. */
import fc from 'fast-check'
import type { OpenApiDocument } from '../../src/interfaces/http/openapi/document.ts'
import { openService, type Service } from '../crash/service.ts'
import { matrix } from '../dashboard/matrix.ts'
import { type Entry, type Surface, surfaceOf } from '../hostile/surface.ts'
import { validValue } from '../hostile/values.ts'

const ofDashboard = Object.keys(matrix).map((name) => {
  const [method = '', path = ''] = name.split(' ')
  return { method, path }
})

/** Routes that neither the description nor the list of other paths has. The dashboard gets them without a session. */
const moreEntries: Entry[] = [
  { method: 'POST', path: '/api/webhooks/provider/email' },
  { method: 'GET', path: '/docs/reference.js' },
  ...ofDashboard,
].map((route) => ({ ...route, params: {}, query: [], headers: [], body: undefined, codes: undefined }))

/** Paths that change the service for all later requests. */
const left = new Set(['/api/dev/clock', '/api/dev/run'])

export const readPaths = async (url: string): Promise<Surface> => {
  const document = (await (await fetch(`${url}/api/openapi.json`)).json()) as OpenApiDocument
  const { entries, resolve } = surfaceOf(document)
  return { resolve, entries: [...entries, ...moreEntries].filter(({ path }) => !left.has(path)) }
}

const idIn = (body: unknown): string | undefined => {
  const { id } = (body ?? {}) as { id?: unknown }
  return typeof id === 'string' ? id : undefined
}

/** Creates a row through every route that creates one, and returns the ids by prefix. */
export const makeRows = async (service: Service, { entries, resolve }: Surface): Promise<Map<string, string>> => {
  const ids = new Map<string, string>()
  for (const { method, path, body } of entries) {
    if (method !== 'POST' || path.includes('{') || !path.startsWith('/api/v1/') || !body) continue
    for (const value of fc.sample(validValue(body, resolve, { full: true }), { seed: 1, numRuns: 8 })) {
      const answer = await service.ask('POST', path, value)
      const id = answer && answer.status < 300 ? idIn(answer.body) : undefined
      if (id === undefined) continue
      ids.set(id.split('_')[0] as string, id)
      break
    }
  }
  return ids
}

export { openService, type Service }
