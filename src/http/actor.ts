import type { Actor } from '../audit/append.ts'
import type { Caller } from '../keys/caller.ts'
import type { Call } from './route.ts'

/** The actor of a caller: its API key, or the person for whom an OAuth client acts. */
export const callerActor = ({ keyId, grant }: Caller, ip: string | null, userAgent: string): Actor =>
  grant ? { kind: 'user', ...grant, ip, userAgent } : { kind: 'key', keyId, ip, userAgent }

/** The actor recorded in audit entries of a call, with IP address and user agent. */
export const actorOf = ({ caller, address, userAgent }: Call<unknown, unknown>): Actor =>
  callerActor(caller, address, userAgent)
