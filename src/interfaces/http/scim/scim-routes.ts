/** The routes under /scim/v2. */
import { z } from 'zod'
import type { DirectoryGroup, DirectoryGroups } from '../../../people/scim/directory-groups.ts'
import type { DirectoryUser, DirectoryUsers } from '../../../people/scim/directory-users.ts'
import { etagOf, namesVersion } from '../../../people/scim/page-and-version.ts'
import { readWholeGroup } from '../../../people/scim/read-group.ts'
import { readPatch } from '../../../people/scim/read-patch.ts'
import { readUserPatch, readWholeUser } from '../../../people/scim/read-user.ts'
import { ScimFault } from '../../../people/scim/scim-fault.ts'
import { unavailable } from '../../../platform/db/refuse-in-outage.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { scimContentType } from '../error-format.ts'
import { parseJson } from '../read-request.ts'
import {
  byDirectory,
  type Call,
  type DirectoryAccess,
  defineRoute,
  type Method,
  type PathParams,
  type Route,
  type RouteResponse,
} from '../route.ts'
import { describedOne, resourceTypes, scimSchemas, serviceProviderConfig, wholeShownList } from './scim-discovery.ts'
import { makeShows, project, readFilterOf, readScimPage, ScimQuery } from './scim-query.ts'
import { type Shown, shownGroup, shownList, shownUser } from './shown-directory.ts'

export const scimPrefix = '/scim/v2'

type ScimRequest<Params = unknown> = Call<DirectoryAccess, Params, ScimQuery, unknown>

/** `base` is the address of /scim/v2. */
type ScimCall<Params = unknown> = ScimRequest<Params> & { base: string }

/** A group with all its members has four values for each: an object, its value, its display name and a reference. */
const bounds = { depth: 20, values: 50_000 }

const jsonTypes = /^application\/(?:scim\+)?json\s*(?:;|$)/i

const bodyOf = async ({ upload: { contentType, bytes } }: ScimCall): Promise<unknown> => {
  if (bytes.length === 0) throw new ScimFault(400, 'The request has no body.', 'invalidSyntax')
  if (!jsonTypes.test(contentType)) {
    throw new Failure('UNSUPPORTED_MEDIA_TYPE', { message: 'The body must be application/scim+json.' })
  }
  return parseJson(bytes, bounds)
}

/** A directory repeats a request that gets a 503, and gives up on one that gets a 500. */
const databaseFault = (cause?: unknown): Failure =>
  unavailable(cause, { message: 'The service cannot reach its database. Repeat the request.' })

const responses = { 200: z.unknown(), 201: z.unknown(), 204: null, 304: null }

type Add = <const P extends string>(
  method: Method,
  path: P,
  handle: (call: ScimCall<PathParams<P>>) => Promise<RouteResponse>,
) => Route

const makeAdd =
  (baseUrl: () => string): Add =>
  (method, path, handle) =>
    defineRoute(method, path, byDirectory, {
      query: ScimQuery,
      uploads: [scimContentType],
      responses,
      databaseFault,
      handle: (call) => handle({ ...call, base: `${baseUrl()}${scimPrefix}` }),
    })

type Versioned = { resource: Shown; version: string }

/** Only a read can be answered with "not modified". */
const answer = (call: ScimCall, { resource, version }: Versioned, status = 200): RouteResponse => {
  const headers = { etag: etagOf(version) }
  const known = ['GET', 'HEAD'].includes(call.method) ? call.headers['if-none-match'] : undefined
  if (known !== undefined && namesVersion(known, version)) return { status: 304, headers }
  const { location } = resource.meta as { location: string }
  const body = project(resource, makeShows(call.query))
  return { status, body, headers: status === 201 ? { ...headers, location } : headers }
}

const userOf = (user: DirectoryUser, { base }: ScimCall): Versioned => ({
  resource: shownUser(user, base),
  version: user.version,
})

const groupOf = (group: DirectoryGroup, { base }: ScimCall): Versioned => ({
  resource: shownGroup(group, base),
  version: String(group.version),
})

const userRoutes = (add: Add, users: DirectoryUsers): Route[] => [
  add('GET', '/Users', async (call) => {
    const page = readScimPage(call.query)
    const shows = makeShows(call.query)
    const { total, rows } = await users.list(call.orgId, readFilterOf(call.query), page)
    const shown = rows.map((row) => project(shownUser(row, call.base), shows))
    return { status: 200, body: shownList(shown, total, page.startIndex) }
  }),
  add('POST', '/Users', async (call) => {
    const user = await users.create(call, readWholeUser(await bodyOf(call)))
    return answer(call, userOf(user, call), 201)
  }),
  add('GET', '/Users/{id}', async (call) => answer(call, userOf(await users.find(call.orgId, call.params.id), call))),
  add('PUT', '/Users/{id}', async (call) => {
    const user = await users.change(call, call.params.id, readWholeUser(await bodyOf(call)), call.headers['if-match'])
    return answer(call, userOf(user, call))
  }),
  add('PATCH', '/Users/{id}', async (call) => {
    const change = readUserPatch(readPatch(await bodyOf(call)))
    return answer(call, userOf(await users.change(call, call.params.id, change, call.headers['if-match']), call))
  }),
  add('DELETE', '/Users/{id}', async (call) => {
    await users.remove(call, call.params.id, call.headers['if-match'])
    return { status: 204 }
  }),
]

const groupRoutes = (add: Add, groups: DirectoryGroups): Route[] => [
  add('GET', '/Groups', async (call) => {
    const page = readScimPage(call.query)
    const shows = makeShows(call.query)
    const read = { members: shows('members') }
    const { total, rows } = await groups.list(call.orgId, readFilterOf(call.query), page, read)
    const shown = rows.map((row) => project(shownGroup(row, call.base), shows))
    return { status: 200, body: shownList(shown, total, page.startIndex) }
  }),
  add('POST', '/Groups', async (call) => {
    const group = await groups.create(call, readWholeGroup(await bodyOf(call)))
    return answer(call, groupOf(group, call), 201)
  }),
  add('GET', '/Groups/{id}', async (call) => {
    const read = { members: makeShows(call.query)('members') }
    return answer(call, groupOf(await groups.find(call.orgId, call.params.id, read), call))
  }),
  add('PUT', '/Groups/{id}', async (call) => {
    const group = await groups.replace(
      call,
      call.params.id,
      readWholeGroup(await bodyOf(call)),
      call.headers['if-match'],
    )
    return answer(call, groupOf(group, call))
  }),
  add('PATCH', '/Groups/{id}', async (call) => {
    const group = await groups.patch(call, call.params.id, readPatch(await bodyOf(call)), call.headers['if-match'])
    return answer(call, groupOf(group, call))
  }),
  add('DELETE', '/Groups/{id}', async (call) => {
    await groups.remove(call, call.params.id, call.headers['if-match'])
    return { status: 204 }
  }),
]

const discoveryRoutes = (add: Add): Route[] => {
  const shownAt = <const P extends string>(path: P, show: (call: ScimCall<PathParams<P>>) => Shown): Route =>
    add('GET', path, async (call) => ({ status: 200, body: show(call) }))
  return [
    shownAt('/ServiceProviderConfig', ({ base }) => serviceProviderConfig(base)),
    shownAt('/ResourceTypes', ({ base }) => wholeShownList(resourceTypes(base))),
    shownAt('/ResourceTypes/{id}', ({ base, params }) => describedOne(resourceTypes(base), params.id)),
    shownAt('/Schemas', ({ base }) => wholeShownList(scimSchemas(base))),
    shownAt('/Schemas/{id}', ({ base, params }) => describedOne(scimSchemas(base), params.id)),
  ]
}

type Needs = { users: DirectoryUsers; groups: DirectoryGroups; baseUrl: () => string }

export const scimRoutes = ({ users, groups, baseUrl }: Needs): Route[] => {
  const add = makeAdd(baseUrl)
  return [...userRoutes(add, users), ...groupRoutes(add, groups), ...discoveryRoutes(add)]
}
