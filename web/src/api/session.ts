/** The signed-in person, their active org and their role in it. */
import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { api, unwrap } from './client.ts'
import type { paths } from './schema.gen.ts'

export type SessionState = paths['/api/auth/session']['get']['responses'][200]['content']['application/json']
/** The active organisation, if it is closed to this session. */
export type ClosedOrg = NonNullable<SessionState['closed_org']>
export type SignedInUser = NonNullable<SessionState['user']>
export type Role = 'owner' | 'developer' | 'member' | 'viewer'

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => unwrap(api.GET('/api/auth/session')),
  staleTime: 60_000,
})

export const useSession = () => useSuspenseQuery(sessionQuery).data

/** For pages inside the shell, where somebody is always signed in. */
export const useUser = (): SignedInUser => useSession().user as SignedInUser

export const useOrg = () => useSession().active_org ?? undefined
export const useRole = (): Role | undefined => useOrg()?.role as Role | undefined
