/** Requests that the service makes to its own API in the same process, for a request that it received. */
import { AsyncLocalStorage } from 'node:async_hooks'

/** What the inner request takes over from the outer one. */
type SelfCall = { requestId: string; address: string | null }

const current = new AsyncLocalStorage<SelfCall>()

export const withSelfCall = <T>(call: SelfCall, work: () => T): T => current.run(call, work)
export const currentSelfCall = (): SelfCall | undefined => current.getStore()
