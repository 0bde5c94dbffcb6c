/** The routes under /scim/v2. */
import type { DirectoryGroup, DirectoryGroups } from '../../scim/directory-groups.ts'
import type { DirectoryUser, DirectoryUsers } from '../../scim/directory-users.ts'
import type { DirectoryActor } from '../../scim/group-mapping.ts'
import { etagOf, namesVersion } from '../../scim/page-and-version.ts'
import { readWholeGroup } from '../../scim/read-group.ts'
import { readPatch } from '../../scim/read-patch.ts'
import { readUserPatch, readWholeUser } from '../../scim/read-user.ts'
import type { Method } from '../route.ts'
import { describedOne, resourceTypes, scimSchemas, serviceProviderConfig, wholeShownList } from './scim-discovery.ts'
import { makeShows, project, readFilterOf, readScimPage, type ScimQuery } from './scim-query.ts'
import { type Shown, shownGroup, shownList, shownUser } from './shown-directory.ts'

export type ScimCall = {
  orgId: string
  actor: DirectoryActor
  /** The address of /scim/v2. */
  base: string
  query: ScimQuery
  /** The last part of the path, if the route has one. */
  id: string
  body: unknown
  ifMatch: string | undefined
  ifNoneMatch: string | undefined
}

export type ScimAnswer = { status: number; body?: Shown; headers?: Record<string, string> }

export type ScimRoute = {
  method: Method
  /** Below /scim/v2. */
  path: string
  handle: (call: ScimCall) => Promise<ScimAnswer>
}

type Versioned = { resource: Shown; version: string }

const answer = (call: ScimCall, { resource, version }: Versioned, status = 200): ScimAnswer => {
  const headers = { etag: etagOf(version) }
  if (status === 200 && call.ifNoneMatch !== undefined && namesVersion(call.ifNoneMatch, version)) {
    return { status: 304, headers }
  }
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

/** Only a read can be answered with "not modified". */
const changed = (call: ScimCall): ScimCall => ({ ...call, ifNoneMatch: undefined })

const userRoutes = (users: DirectoryUsers): ScimRoute[] => [
  {
    method: 'GET',
    path: '/Users',
    handle: async (call) => {
      const page = readScimPage(call.query)
      const shows = makeShows(call.query)
      const { total, rows } = await users.list(call.orgId, readFilterOf(call.query), page)
      const shown = rows.map((row) => project(shownUser(row, call.base), shows))
      return { status: 200, body: shownList(shown, total, page.startIndex) }
    },
  },
  {
    method: 'POST',
    path: '/Users',
    handle: async (call) => {
      const user = await users.create(call, readWholeUser(call.body))
      return answer(changed(call), userOf(user, call), 201)
    },
  },
  {
    method: 'GET',
    path: '/Users/:id',
    handle: async (call) => answer(call, userOf(await users.find(call.orgId, call.id), call)),
  },
  {
    method: 'PUT',
    path: '/Users/:id',
    handle: async (call) => {
      const user = await users.change(call, call.id, readWholeUser(call.body), call.ifMatch)
      return answer(changed(call), userOf(user, call))
    },
  },
  {
    method: 'PATCH',
    path: '/Users/:id',
    handle: async (call) => {
      const change = readUserPatch(readPatch(call.body))
      return answer(changed(call), userOf(await users.change(call, call.id, change, call.ifMatch), call))
    },
  },
  {
    method: 'DELETE',
    path: '/Users/:id',
    handle: async (call) => {
      await users.remove(call, call.id, call.ifMatch)
      return { status: 204 }
    },
  },
]

const groupRoutes = (groups: DirectoryGroups): ScimRoute[] => [
  {
    method: 'GET',
    path: '/Groups',
    handle: async (call) => {
      const page = readScimPage(call.query)
      const shows = makeShows(call.query)
      const read = { members: shows('members') }
      const { total, rows } = await groups.list(call.orgId, readFilterOf(call.query), page, read)
      const shown = rows.map((row) => project(shownGroup(row, call.base), shows))
      return { status: 200, body: shownList(shown, total, page.startIndex) }
    },
  },
  {
    method: 'POST',
    path: '/Groups',
    handle: async (call) => {
      const group = await groups.create(call, readWholeGroup(call.body))
      return answer(changed(call), groupOf(group, call), 201)
    },
  },
  {
    method: 'GET',
    path: '/Groups/:id',
    handle: async (call) => {
      const read = { members: makeShows(call.query)('members') }
      return answer(call, groupOf(await groups.find(call.orgId, call.id, read), call))
    },
  },
  {
    method: 'PUT',
    path: '/Groups/:id',
    handle: async (call) => {
      const group = await groups.replace(call, call.id, readWholeGroup(call.body), call.ifMatch)
      return answer(changed(call), groupOf(group, call))
    },
  },
  {
    method: 'PATCH',
    path: '/Groups/:id',
    handle: async (call) => {
      const group = await groups.patch(call, call.id, readPatch(call.body), call.ifMatch)
      return answer(changed(call), groupOf(group, call))
    },
  },
  {
    method: 'DELETE',
    path: '/Groups/:id',
    handle: async (call) => {
      await groups.remove(call, call.id, call.ifMatch)
      return { status: 204 }
    },
  },
]

const shownAt = (path: string, show: (call: ScimCall) => Shown): ScimRoute => ({
  method: 'GET',
  path,
  handle: async (call) => ({ status: 200, body: show(call) }),
})

const discoveryRoutes: ScimRoute[] = [
  shownAt('/ServiceProviderConfig', ({ base }) => serviceProviderConfig(base)),
  shownAt('/ResourceTypes', ({ base }) => wholeShownList(resourceTypes(base))),
  shownAt('/ResourceTypes/:id', ({ base, id }) => describedOne(resourceTypes(base), id)),
  shownAt('/Schemas', ({ base }) => wholeShownList(scimSchemas(base))),
  shownAt('/Schemas/:id', ({ base, id }) => describedOne(scimSchemas(base), id)),
]

export const scimRoutes = ({ users, groups }: { users: DirectoryUsers; groups: DirectoryGroups }): ScimRoute[] => [
  ...userRoutes(users),
  ...groupRoutes(groups),
  ...discoveryRoutes,
]
