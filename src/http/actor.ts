import type { Actor } from '../audit/append.ts'
import type { Call } from './route.ts'

/** Who a call's audit entries name: the key, and where it called from. */
export const actorOf = ({ caller, address, userAgent }: Call<unknown, unknown>): Actor => ({
  kind: 'key',
  keyId: caller.keyId,
  ip: address,
  userAgent,
})
