import type { Actor } from '../audit/append.ts'
import type { Call } from './route.ts'

/** The actor recorded in audit entries of a call: its API key, IP address and user agent. */
export const actorOf = ({ caller, address, userAgent }: Call<unknown, unknown>): Actor => ({
  kind: 'key',
  keyId: caller.keyId,
  ip: address,
  userAgent,
})
