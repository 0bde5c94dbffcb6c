import { AsyncLocalStorage } from 'node:async_hooks'

/** The request a line of work belongs to, so that log lines name it without it being handed around. */
const current = new AsyncLocalStorage<string>()

export const withRequestId = <T>(id: string, work: () => T): T => current.run(id, work)
export const currentRequestId = (): string | undefined => current.getStore()
