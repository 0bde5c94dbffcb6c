import { AsyncLocalStorage } from 'node:async_hooks'

/** The id of the current request. Log lines include it without every function passing it on. */
const current = new AsyncLocalStorage<string>()

export const withRequestId = <T>(id: string, work: () => T): T => current.run(id, work)
export const currentRequestId = (): string | undefined => current.getStore()
